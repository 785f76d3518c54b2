import { describe, expect, test } from 'vitest';
import { HoldfastError } from '../../src/core/errors.ts';
import { appendAll, defineSlice } from '../../src/core/fold/slices.ts';
import { planResume } from '../../src/core/plan/resume-plan.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { answer, messageOf, plain, recorded, result, started, toolStarted, user } from '../core/log.ts';
import { writeDraft } from '../support/write-draft.ts';
import { expectGapless, logIn, rejection } from './log-of.ts';
import { STORES, withChanges } from './stores.ts';

const plan = defineSlice({ name: 'plan', initial: [], on: { 'plan/added': appendAll } });

describe.for(STORES)('D55: a fork, on %s', ([, create]) => {
  const opened = async () => {
    const store = await create();
    return { store, session: await openSession({ store, id: 's1', slices: [plan] }) };
  };

  test("starts with its origin's log and then grows independently", async () => {
    const { store, session } = await opened();
    await session.append([started(), user('hi', 0), { type: 'plan/added', step: 'a' }]);
    const fork = await session.fork({ id: 's2' });
    expect(fork.id).toBe('s2');
    expect(fork.messages()).toEqual(session.messages());
    expect(fork.summary?.forkedFrom).toEqual({ sessionId: 's1', seq: 3 });
    await fork.dispatch({ type: 'plan/added', step: 'fork' });
    await session.dispatch({ type: 'plan/added', step: 'origin' });
    const steps = (items: readonly unknown[]) => items.map((item) => (item as { step: string }).step);
    expect(steps(fork.select(plan).all())).toEqual(['a', 'fork']);
    expect(steps(session.select(plan).all())).toEqual(['a', 'origin']);
    expectGapless(await logIn(store, 's2'));
  });

  test('survives the deletion of its origin, with its external content', async () => {
    const { store, session } = await opened();
    const large = await openSession({ store, id: 's1', maxInlineLength: 10 });
    await large.append([user('x'.repeat(50), 0)]);
    await session.refresh();
    const fork = await session.fork({ id: 's2' });
    await store.deleteSession('s1');
    const again = await openSession({ store, id: 's2' });
    expect((await again.resolve(again.messages()))[0]?.content).toEqual([{ type: 'text', text: 'x'.repeat(50) }]);
    await fork.dispatch({ type: 'plan/added', step: 'on' });
    expect((await store.check()).problems).toEqual([]);
  });

  test('copies neither lease nor draft', async () => {
    const { store, session } = await opened();
    await session.append([started()]);
    await writeDraft(store, 's1', [{ evaluationId: 'e1', turn: 1, attempt: 1, blockId: 'b', delta: 'x' }]);
    await store.acquireLease('s1', { holder: { id: 'h', host: 'h', pid: 1, startedAt: '0' }, ttlMs: 1e6 });
    await session.fork({ id: 's2' });
    expect(await store.readLease('s2')).toBeUndefined();
    expect(await store.readDraft('s2')).toEqual([]);
    expect(await store.readDraft('s1')).toHaveLength(1);
  });

  test('records open calls as failed: two sessions never run the same call', async () => {
    const { session } = await opened();
    await session.append([
      started(),
      user('hi', 0),
      answer(1, ['a', 'b', 'c']),
      toolStarted('a', 'once'),
      result(2, 'b'),
      { type: 'evaluation/suspended', evaluationId: 'e1', reason: 'TOOL_OUTCOME_UNKNOWN', message: '', pending: [] },
      started('child', { conversationId: 'e1/1/a/0', parent: { evaluationId: 'e1', turn: 1, callId: 'a' } } as object),
      answer(0, ['d'], { evaluationId: 'child', conversationId: 'e1/1/a/0' }),
    ]);
    const fork = await session.fork({ id: 's2' });
    expect(fork.pending({ evaluationId: 'e1' })).toEqual([]);
    expect(fork.pending({ evaluationId: 'child' })).toEqual([]);
    expect(fork.messages({ evaluationId: 'e1' }).slice(3)).toMatchObject([
      { id: 'e1:3', toolCallId: 'a', isError: true, turn: 1, toolName: 'write' },
      { id: 'e1:4', toolCallId: 'c', isError: true },
    ]);
    expect(fork.messages({ evaluationId: 'child' }).at(-1)).toMatchObject({
      toolCallId: 'd',
      conversationId: 'e1/1/a/0',
    });
    expect(planResume(fork)).toMatchObject({ do: 'call-model', turn: 2 });
    expect(session.pending({ evaluationId: 'e1' }).map((call) => call.callId)).toEqual(['d', 'c']); // a waits for d
  });
});

describe('D55: the position of a fork', () => {
  const log = [started(), user('hi', 0), answer(1, ['a']), result(2, 'a'), answer(3, [], { turn: 2 })];

  test.for([1, 2, 3, 4, 5])('at %i it has the events up to there', async (at) => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1' });
    await session.append(log);
    const fork = await session.fork({ id: 's2', at });
    expect((await logIn(store, 's2')).slice(0, at)).toEqual((await logIn(store)).slice(0, at));
    expect(fork.summary?.forkedFrom).toEqual({ sessionId: 's1', seq: at });
    // At 3 the call is open.
    expect(fork.seq).toBe(at === 3 ? at + 2 : at + 1);
  });

  test.for([0, 6, -1, 1.5, Number.NaN])('%s is not a valid position', async (at) => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1' });
    await session.append(log);
    expect(await rejection(session.fork({ id: 's2', at }))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect((await store.head('s2')).seq).toBe(0);
  });

  test('an empty session has none', async () => {
    const session = await openSession({ store: memoryStore(), id: 's1' });
    expect(await rejection(session.fork())).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('an existing session is not overwritten', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1' });
    await session.append(log);
    for (const id of ['s1', (await session.fork()).id]) {
      expect(await rejection(session.fork({ id }))).toMatchObject({ code: 'SESSION_CONFLICT' });
    }
  });

  test('without an id it gets one that contains its origin', async () => {
    const session = await openSession({ store: memoryStore(), id: 'x'.repeat(512) });
    await session.append(log);
    const [one, other] = [await session.fork(), await session.fork()];
    expect(one.id).not.toBe(other.id);
    expect(one.id).toMatch(/^x+-fork-/);
  });

  test('it includes events that other handles have written', async () => {
    const store = memoryStore();
    const stale = await openSession({ store, id: 's1' });
    await (await openSession({ store, id: 's1' })).append(log);
    expect((await stale.fork()).seq).toBe(6);
  });
});

test('a fork of a fork is a session of its own, whichever is deleted', async () => {
  const store = memoryStore();
  const session = await openSession({ store, id: 's1', slices: [plan], maxInlineLength: 10 });
  await session.append([started(), user('y'.repeat(30), 0), { type: 'plan/added', step: 'a' }]);
  const fork = await session.fork({ id: 's2' });
  await fork.append([answer(1, ['a'])]);
  const second = await fork.fork({ id: 's3' });
  const before = plain(second.state);
  expect(second.summary?.forkedFrom).toEqual({ sessionId: 's2', seq: 5 });
  await store.deleteSession('s2');
  await store.deleteSession('s1');
  const again = await openSession({ store, id: 's3', slices: [plan] });
  expect(plain(again.state)).toEqual(before);
  expect((await again.resolve(again.messages()))[0]?.content).toEqual([{ type: 'text', text: 'y'.repeat(30) }]);
});

test('calls of an ended evaluation do not change', async () => {
  const session = await openSession({ store: memoryStore(), id: 's1' });
  await session.append([started(), answer(0, ['a']), { type: 'evaluation/superseded', evaluationId: 'e1' }]);
  expect((await session.fork()).seq).toBe(4);
});

test('old events are copied as they were written, and translated when the fork is read', async () => {
  const store = memoryStore();
  const upcasters = { 'said/once': (event: object) => ({ ...event, type: 'message/recorded' }) as never };
  const session = await openSession({ store, id: 's1', upcasters });
  const asked = messageOf('assistant', '', 0, { turn: 1, toolCalls: [{ callId: 'a', name: 'x', arguments: '{}' }] });
  await session.append([started(), { ...recorded(asked), type: 'said/once' }]);
  const fork = await (await openSession({ store, id: 's1', upcasters })).fork({ id: 's2' });
  expect(fork.pending()).toEqual([]);
  expect((await logIn(store, 's2'))[1]?.type).toBe('said/once');
});

test('D51: a fork whose acknowledgement was lost exists once', async () => {
  const memory = memoryStore();
  const session = await openSession({ store: memory, id: 's1' });
  await session.append([started()]);
  let faults = 1;
  const lost = withChanges(memory, {
    async forkSession(...args) {
      const forked = await memory.forkSession(...args);
      if (faults-- > 0) throw new HoldfastError('STORE_FAILED', 'the connection was lost');
      return forked;
    },
  });
  expect((await (await openSession({ store: lost, id: 's1' })).fork({ id: 's2' })).seq).toBe(2);
  expect(await logIn(memory, 's2')).toHaveLength(2);
  const full = withChanges(memory, { forkSession: () => Promise.reject(new HoldfastError('STORE_FULL', 'full')) });
  const error = await rejection((await openSession({ store: full, id: 's1' })).fork({ id: 's3' }));
  expect(error).toMatchObject({ code: 'STORE_FULL' });
});
