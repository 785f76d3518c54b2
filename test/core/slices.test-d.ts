import { describe, expectTypeOf, test } from 'vitest';
import type { UserEvent } from '../../src/core/events.ts';
import { appendAll, defineSlice, type EventOf, type ItemOf, replaceLatest, upsertBy } from '../../src/core/slices.ts';

interface Step {
  readonly title: string;
  readonly done: boolean;
}

const plan = defineSlice({
  name: 'plan',
  initial: [] as Step[],
  on: {
    'plan/added': (steps, event: { readonly step: Step }) => [...steps, event.step],
    'plan/renamed': (steps, event: { readonly at: string; readonly title: string; readonly index: number }) =>
      steps.with(event.index, { title: event.title, done: false }),
    'plan/cleared': () => [],
    'plan/counted': (steps) => {
      expectTypeOf(steps).toEqualTypeOf<readonly Step[]>();
      return steps;
    },
  },
});

interface Note {
  readonly id: string;
  readonly text: string;
}

describe('a slice’s types come from its definition', () => {
  test('its items are those it begins with', () => {
    expectTypeOf<ItemOf<typeof plan>>().toEqualTypeOf<Step>();
  });

  test('its events are what its handlers ask for, without the envelope that the log gives them', () => {
    type Of<T> = Extract<EventOf<typeof plan>, { readonly type: T }>;
    expectTypeOf<Of<'plan/added'>['step']>().toEqualTypeOf<Step>();
    expectTypeOf<keyof Of<'plan/renamed'>>().toEqualTypeOf<'type' | 'title' | 'index'>();
    expectTypeOf<keyof Of<'plan/cleared'>>().toEqualTypeOf<'type'>();
    expectTypeOf<EventOf<typeof plan>['type']>().toEqualTypeOf<
      'plan/added' | 'plan/renamed' | 'plan/cleared' | 'plan/counted'
    >();
  });

  test('with ready-made reducers the items are the events', () => {
    const notes = defineSlice({
      name: 'notes',
      initial: [] as Note[],
      on: {
        'note/added': appendAll,
        'note/only': replaceLatest,
        'note/set': upsertBy((note) => {
          expectTypeOf(note).toEqualTypeOf<Note>();
          return note.id;
        }),
      },
    });
    expectTypeOf<ItemOf<typeof notes>>().toEqualTypeOf<Note>();
    type Fields<T> = keyof Extract<EventOf<typeof notes>, { readonly type: T }>;
    expectTypeOf<Fields<'note/added'>>().toEqualTypeOf<'type' | 'id' | 'text'>();
    expectTypeOf<Fields<'note/only'>>().toEqualTypeOf<'type' | 'id' | 'text'>();
    expectTypeOf<Fields<'note/set'>>().toEqualTypeOf<'type' | 'id' | 'text'>();
  });

  test('one that begins with a bare [] lists whatever its events are', () => {
    const anything = defineSlice({ name: 'anything', initial: [], on: { 'thing/happened': appendAll } });
    expectTypeOf<ItemOf<typeof anything>>().toEqualTypeOf<UserEvent>();
  });

  test('a handler that gives other items than the slice’s is refused', () => {
    defineSlice({
      name: 'wrong',
      initial: [] as Step[],
      // @ts-expect-error: a Note is no Step
      on: { 'plan/added': (steps, event: { readonly note: Note }) => [...steps, event.note] },
    });
    defineSlice({
      name: 'wrong',
      initial: [] as Step[],
      // @ts-expect-error: a reducer answers at once
      on: { 'plan/added': async (steps) => steps },
    });
  });
});
