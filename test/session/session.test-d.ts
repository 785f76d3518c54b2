import { describe, expectTypeOf, test } from 'vitest';
import type { Evaluation } from '../../src/core/fold/evaluations.ts';
import { appendAll, defineSlice, type EventIn, type UnlistedEvent } from '../../src/core/fold/slices.ts';
import {
  type EventEnvelope,
  isBuiltInEvent,
  isUserEvent,
  type MessageRecorded,
  type SessionEvent,
} from '../../src/core/log/events.ts';
import type { MessageDelta } from '../../src/core/log/message-delta.ts';
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import type { ToolProgress } from '../../src/core/log/progress.ts';
import type { DraftReset, DraftsReplaced, SessionReset, TailItem } from '../../src/core/log/tail.ts';
import { evaluations, messages } from '../../src/core/views/session-view.ts';
import type { Store } from '../../src/ports/store.ts';
import { type AnySession, openSession, type Session } from '../../src/session/session.ts';

interface Step {
  readonly title: string;
}

const plan = defineSlice({
  name: 'plan',
  initial: [] as Step[],
  on: {
    'plan/added': (steps, event: { readonly step: Step }) => [...steps, event.step],
    'plan/cleared': () => [],
  },
});
const notes = defineSlice({
  name: 'notes',
  initial: [] as { readonly text: string }[],
  on: { 'note/added': appendAll },
});

declare const store: Store;
const mood = defineSlice({
  name: 'mood',
  initial: { level: 0 },
  on: { 'mood/set': (_, event: { readonly level: number }) => ({ level: event.level }) },
});
const open = () => openSession({ store, id: 's1', slices: [plan, notes, mood] });
declare const session: Awaited<ReturnType<typeof open>>;
declare const bare: Session;
declare const any: AnySession;
declare const item: TailItem;

describe('dispatch is checked against the session’s slices', () => {
  test('an event of a slice needs that slice’s fields', () => {
    session.dispatch({ type: 'plan/added', step: { title: 'x' } });
    session.dispatch({ type: 'plan/cleared' });
    session.dispatch({ type: 'note/added', text: 'x' });
    // @ts-expect-error: a field is missing
    session.dispatch({ type: 'plan/added' });
    // @ts-expect-error: a field is wrong
    session.dispatch({ type: 'plan/added', step: { name: 'x' } });
    // @ts-expect-error: an excess field
    session.dispatch({ type: 'plan/cleared', step: 1 });
    // @ts-expect-error: the items of the other slice
    session.dispatch({ type: 'note/added', step: { title: 'x' } });
  });

  test('a built-in event needs its fields, in every session', () => {
    session.dispatch({ type: 'evaluation/completed', evaluationId: 'e1' });
    bare.dispatch({ type: 'evaluation/completed', evaluationId: 'e1' });
    // @ts-expect-error: the id is missing
    session.dispatch({ type: 'evaluation/completed' });
    // @ts-expect-error: the id is missing
    bare.dispatch({ type: 'evaluation/completed' });
    // @ts-expect-error: the log assigns the seq
    session.dispatch({ type: 'evaluation/completed', evaluationId: 'e1', seq: 1 });
  });

  test('an event that no slice folds, such as a misspelt one, is refused; append takes it', () => {
    // @ts-expect-error: misspelt
    session.dispatch({ type: 'plan/aded', step: { title: 'x' } });
    // @ts-expect-error: no slice folds it
    session.dispatch({ type: 'my/own', anything: [1, 'two'] });
    void openSession({ store, id: 's1' }).then((without) => {
      // @ts-expect-error: the session has no slices
      without.dispatch({ type: 'plan/added', step: { title: 'x' } });
      without.dispatch({ type: 'evaluation/completed', evaluationId: 'e1' });
    });
    session.append([{ type: 'my/own', anything: [1, 'two'] }]);
    const type = 'plan/cleared' as 'plan/cleared' | 'evaluation/completed';
    if (type === 'plan/cleared') session.dispatch({ type });
  });

  test('if the slices are not known here, an event of any type is accepted, and checked at run time', () => {
    bare.dispatch({ type: 'my/own', anything: [1, 'two'] });
    // @ts-expect-error: an event has a type
    session.dispatch({ anything: 1 });
  });

  test('so is an event of a transaction', async () => {
    await session.transaction(async (tx) => {
      await tx.dispatch({ type: 'plan/added', step: { title: 'x' } });
      // @ts-expect-error: no slice folds it
      await tx.dispatch({ type: 'my/own', anything: 1 });
      // @ts-expect-error: a field is missing
      await tx.dispatch({ type: 'plan/added' });
      expectTypeOf(tx.select(plan).all()).toEqualTypeOf<readonly Step[]>();
    });
    expectTypeOf(session.transaction(() => 7)).toEqualTypeOf<Promise<number>>();
  });
});

describe('an event of a session narrows by its type', () => {
  type Read = Parameters<Parameters<typeof session.subscribe>[0]>[0];

  test('to the event of a slice, with the fields of its handler and the envelope', () => {
    session.subscribe((event) => {
      if (event.type === 'plan/added') {
        expectTypeOf(event.step).toEqualTypeOf<Step>();
        expectTypeOf(event.seq).toEqualTypeOf<number>();
        expectTypeOf(event.discarded).toEqualTypeOf<true | undefined>();
        expectTypeOf(event.type).toExtend<'plan/added'>();
        // @ts-expect-error: a field of the other slice
        event.text;
      }
      if (event.type === 'note/added') expectTypeOf(event.text).toEqualTypeOf<string>();
      if (event.type === 'plan/cleared')
        expectTypeOf<keyof typeof event>().toEqualTypeOf<keyof EventEnvelope | 'type'>();
    });
  });

  test('to a built-in event, in every session', async () => {
    session.subscribe((event) => {
      if (event.type === 'message/recorded') expectTypeOf(event).toEqualTypeOf<MessageRecorded>();
    });
    for await (const event of session.events()) {
      if (event.type === 'message/recorded') expectTypeOf(event).toEqualTypeOf<MessageRecorded>();
      if (event.type === 'plan/added') expectTypeOf(event.step).toEqualTypeOf<Step>();
    }
    for await (const event of bare.events())
      if (event.type === 'message/recorded') expectTypeOf(event).toEqualTypeOf<MessageRecorded>();
    for await (const event of (bare as AnySession).events())
      if (event.type === 'message/recorded') expectTypeOf(event).toEqualTypeOf<MessageRecorded>();
  });

  test('to an unknown event, whose fields are unknown', () => {
    session.subscribe((event) => {
      if (isBuiltInEvent(event)) return;
      if (event.type === 'plan/added' || event.type === 'plan/cleared') return;
      if (event.type === 'note/added' || event.type === 'mood/set') return;
      expectTypeOf(event).toEqualTypeOf<UnlistedEvent>();
      expectTypeOf(event.anything).toEqualTypeOf<unknown>();
    });
    // @ts-expect-error: neither a built-in event nor one of its slices
    session.subscribe((event) => event.type === 'plan/aded');
  });

  test('a slice that folds a built-in event does not change that event’s type', () => {
    const titles = defineSlice({
      name: 'titles',
      initial: [] as string[],
      on: { 'session/described': (all, event: { readonly title: string }) => [...all, event.title] },
    });
    const event = {} as EventIn<readonly [typeof titles]>;
    if (event.type === 'session/described') expectTypeOf(event.title).toEqualTypeOf<string | undefined>();
  });

  test('an event of a session with slices is assignable to SessionEvent', () => {
    expectTypeOf<Read>().toExtend<SessionEvent>();
    expectTypeOf<Read>().toEqualTypeOf<EventIn<readonly [typeof plan, typeof notes, typeof mood]>>();
    session.subscribe((event: SessionEvent) => void event.seq);
  });
});

test('redact and upcasters narrow their event, and return one of any type', () => {
  void openSession({
    store,
    id: 's1',
    redact: (event) =>
      event.type === 'message/recorded' ? { ...event, message: { ...event.message, providerMessageId: 'x' } } : event,
    upcasters: {
      'step/added': (event) => ({ ...event, type: 'plan/added', step: { title: 'x' } }),
      'session/described': (event) =>
        event.type === 'session/described' ? { ...event, title: event.title ?? 'untitled' } : event,
    },
  });
});

describe('select and observe are typed by the slice', () => {
  test('as items or a value', () => {
    expectTypeOf(session.select(plan).all()).toEqualTypeOf<readonly Step[]>();
    expectTypeOf(session.select(plan).latest()).toEqualTypeOf<Step | undefined>();
    expectTypeOf(session.select(messages).all()).toEqualTypeOf<readonly ConversationMessage[]>();
    expectTypeOf(session.select(evaluations).latest()).toEqualTypeOf<Evaluation | undefined>();
    expectTypeOf(session.select(mood).get()).toEqualTypeOf<{ level: number }>();
    // @ts-expect-error: a value has no items
    session.select(mood).all();
    session.observe(mood, (before, after) => {
      expectTypeOf(before).toEqualTypeOf<{ level: number }>();
      expectTypeOf(after).toEqualTypeOf<{ level: number }>();
    });
    session.subscribe((event) => {
      if (event.type === 'mood/set') expectTypeOf(event.level).toEqualTypeOf<number>();
    });
    session.dispatch({ type: 'mood/set', level: 1 });
    // @ts-expect-error: a field is wrong
    session.dispatch({ type: 'mood/set', level: 'x' });
    session.select(plan).where((step) => step.title !== '');
    session.observe(plan, (before, after) => {
      expectTypeOf(before).toEqualTypeOf<readonly Step[]>();
      expectTypeOf(after).toEqualTypeOf<readonly Step[]>();
    });
  });
});

test('a session with slices is assignable to Session', () => {
  expectTypeOf(session).toExtend<Session>();
  expectTypeOf(session).toExtend<AnySession>();
  expectTypeOf(session.fork()).resolves.toEqualTypeOf<typeof session>();
  // @ts-expect-error: its slices are not known here
  const typed: typeof session = bare as AnySession;
  void typed;
});

describe('a tail yields items with cursors, and the log plain events', () => {
  test('by the literal value of drafts', () => {
    expectTypeOf(any.events()).toEqualTypeOf<AsyncIterable<SessionEvent>>();
    expectTypeOf(any.events({ live: true })).toEqualTypeOf<AsyncIterable<SessionEvent>>();
    expectTypeOf(any.events({ drafts: false })).toEqualTypeOf<AsyncIterable<SessionEvent>>();
    expectTypeOf(any.events({ drafts: true })).toEqualTypeOf<AsyncIterable<TailItem>>();
    expectTypeOf(session.events({ drafts: true })).toExtend<AsyncIterable<TailItem<{ readonly seq: number }>>>();
    expectTypeOf(any.events({ live: true, drafts: true, after: '1.2.3' })).toEqualTypeOf<AsyncIterable<TailItem>>();
    // @ts-expect-error: a cursor belongs to a tail
    session.events({ after: '1' });
    // @ts-expect-error: a cursor is text
    session.events({ drafts: true, after: 1 });
  });

  test('an item without a seq narrows by its type', () => {
    const { cursor, event } = item;
    expectTypeOf(cursor).toEqualTypeOf<string>();
    if ('seq' in event) expectTypeOf(event).toExtend<SessionEvent>();
    else if (event.type === 'message/delta') expectTypeOf(event).toEqualTypeOf<MessageDelta>();
    else if (event.type === 'tool/progress') expectTypeOf(event).toEqualTypeOf<ToolProgress>();
    else if (event.type === 'draft/reset') expectTypeOf(event).toEqualTypeOf<DraftReset>();
    else if (event.type === 'drafts/replaced') expectTypeOf(event).toEqualTypeOf<DraftsReplaced>();
    else expectTypeOf(event).toEqualTypeOf<SessionReset>();
  });
});

test('isUserEvent gives the fields of an event that no slice folds, in a session with any slices', async () => {
  const session = await openSession({ store, id: 's', slices: [plan, mood] });
  session.subscribe((event) => {
    if (isUserEvent(event, 'my/own')) expectTypeOf(event.field).toEqualTypeOf<unknown>();
  });
  for await (const event of session.events()) {
    if (isUserEvent(event, 'my/own')) expectTypeOf(event.field).toEqualTypeOf<unknown>();
  }
  for await (const { event } of session.events({ drafts: true })) {
    if (isUserEvent(event, 'my/own')) expectTypeOf(event.field).toEqualTypeOf<unknown>();
  }
});
