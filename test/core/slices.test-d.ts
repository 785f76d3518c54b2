import { describe, expectTypeOf, test } from 'vitest';
import {
  appendAll,
  defineSlice,
  type EventOf,
  type ItemOf,
  replaceLatest,
  type StateOf,
  upsertBy,
} from '../../src/core/fold/slices.ts';
import type { UserEvent } from '../../src/core/log/events.ts';
import type { Selection, SelectionOf, ValueSelection } from '../../src/core/views/session-view.ts';

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

describe('a slice may hold any JSON value', () => {
  const budget = defineSlice({
    name: 'budget',
    initial: { cents: 0, owner: null as string | null },
    on: {
      'budget/raised': (value, event: { readonly by: number }) => {
        expectTypeOf(value).toEqualTypeOf<{ cents: number; owner: string | null }>();
        return { ...value, cents: value.cents + event.by };
      },
      'budget/closed': () => ({ cents: 0, owner: null }),
    },
  });

  test('its state is the value, its events are those of its handlers', () => {
    expectTypeOf<StateOf<typeof budget>>().toEqualTypeOf<{ cents: number; owner: string | null }>();
    expectTypeOf<StateOf<typeof plan>>().toEqualTypeOf<readonly Step[]>();
    expectTypeOf<SelectionOf<typeof budget>>().toEqualTypeOf<ValueSelection<{ cents: number; owner: string | null }>>();
    expectTypeOf<SelectionOf<typeof plan>>().toEqualTypeOf<Selection<Step>>();
    type Of<T> = Extract<EventOf<typeof budget>, { readonly type: T }>;
    expectTypeOf<Of<'budget/raised'>['by']>().toEqualTypeOf<number>();
    expectTypeOf<keyof Of<'budget/closed'>>().toEqualTypeOf<'type'>();
  });

  test('numbers, texts, booleans and null are values', () => {
    const count = defineSlice({ name: 'count', initial: 0, on: { 'a/b': (n) => n + 1 } });
    const mode = defineSlice({
      name: 'mode',
      initial: 'idle' as 'idle' | 'busy',
      on: { 'a/b': (): 'busy' => 'busy' },
    });
    const last = defineSlice({
      name: 'last',
      initial: null as Note | null,
      on: { 'note/added': (_, event: Note) => ({ id: event.id, text: event.text }) },
    });
    expectTypeOf<StateOf<typeof count>>().toEqualTypeOf<number>();
    expectTypeOf<StateOf<typeof mode>>().toEqualTypeOf<'idle' | 'busy'>();
    expectTypeOf<StateOf<typeof last>>().toEqualTypeOf<Note | null>();
  });

  test('a handler that returns another type does not compile', () => {
    // @ts-expect-error: a text is not a number
    defineSlice({ name: 'wrong', initial: 0, on: { 'a/b': () => 'x' } });
    // @ts-expect-error: a reducer is synchronous
    defineSlice({ name: 'wrong', initial: 0, on: { 'a/b': async () => 1 } });
    // @ts-expect-error: undefined is not a JSON value
    defineSlice({ name: 'wrong', initial: { n: 0 }, on: { 'a/b': () => undefined } });
  });
});

describe('a slice’s types come from its definition', () => {
  test('its items have the type of its initial items', () => {
    expectTypeOf<ItemOf<typeof plan>>().toEqualTypeOf<Step>();
  });

  test('its events are those of its handlers, without the envelope', () => {
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

  test('a slice with a bare [] lists its events', () => {
    const anything = defineSlice({ name: 'anything', initial: [], on: { 'thing/happened': appendAll } });
    expectTypeOf<ItemOf<typeof anything>>().toEqualTypeOf<UserEvent>();
  });

  test('a handler that returns other items does not compile', () => {
    defineSlice({
      name: 'wrong',
      initial: [] as Step[],
      // @ts-expect-error: a Note is not a Step
      on: { 'plan/added': (steps, event: { readonly note: Note }) => [...steps, event.note] },
    });
    defineSlice({
      name: 'wrong',
      initial: [] as Step[],
      // @ts-expect-error: a reducer is synchronous
      on: { 'plan/added': async (steps) => steps },
    });
  });
});
