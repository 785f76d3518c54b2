import { describe, expect, test } from 'vitest';
import { defineSlice } from '../../src/core/fold/slices.ts';
import { appendForLoop } from '../../src/session/append/append-for-loop.ts';
import type { StagedSession } from '../../src/session/append/staged-session.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { logIn, rejection } from './log-of.ts';
import { countingStore, STORES } from './stores.ts';

const plan = defineSlice({
  name: 'plan',
  initial: [] as string[],
  on: { 'plan/added': (steps, event: { step: string }) => [...steps, event.step] },
});
const audit = defineSlice({
  name: 'audit',
  initial: [] as string[],
  rollback: false,
  on: { 'plan/added': (steps, event: { step: string }) => [...steps, event.step] },
});

const open = async (store = memoryStore()) => openSession({ store, id: 's1', slices: [plan, audit] });

describe.for(STORES)('D21: a transaction, on %s', ([, create]) => {
  test('is visible only inside until it ends, and is then one append', async () => {
    const { store, counts } = countingStore(await create());
    const session = await openSession({ store, id: 's1', slices: [plan, audit] });
    await session.dispatch({ type: 'plan/added', step: 'before' });
    counts.appends = 0;
    const answer = await session.transaction(async (tx) => {
      await tx.dispatch({ type: 'plan/added', step: 'a' });
      await tx.dispatch({ type: 'plan/added', step: 'b' });
      expect(tx.select(plan).all()).toEqual(['before', 'a', 'b']);
      expect(tx.state.seq).toBe(3);
      expect(tx.id).toBe('s1');
      expect(session.select(plan).all()).toEqual(['before']);
      expect(await logIn(store)).toHaveLength(1);
      return 'answer';
    });
    expect(answer).toBe('answer');
    expect(session.select(plan).all()).toEqual(['before', 'a', 'b']);
    expect(counts.appends).toBe(1);
  });

  test('that throws appends nothing', async () => {
    const store = await create();
    const session = await openSession({ store, id: 's1', slices: [plan] });
    const failure = new Error('no');
    const error = await rejection(
      session.transaction(async (tx) => {
        await tx.dispatch({ type: 'plan/added', step: 'a' });
        throw failure;
      }),
    );
    expect(error).toBe(failure);
    expect(await logIn(store)).toEqual([]);
    expect(session.select(plan).all()).toEqual([]);
  });
});

describe('D21: inside a transaction', () => {
  test('commits of other handles are visible, their staged events are not', async () => {
    const session = await open();
    const tx = session.stage();
    const sibling = session.stage();
    await sibling.dispatch({ type: 'plan/added', step: 'sibling’s' });
    await tx.dispatch({ type: 'plan/added', step: 'mine' });
    expect(tx.select(plan).all()).toEqual(['mine']);
    await session.dispatch({ type: 'plan/added', step: 'committed' });
    expect(tx.select(plan).all()).toEqual(['committed', 'mine']);
    expect(sibling.select(plan).all()).toEqual(['committed', 'sibling’s']);
  });

  test('the state is the same object until something changes', async () => {
    const session = await open();
    const tx = session.stage();
    expect(tx.state).toBe(session.state);
    await tx.dispatch({ type: 'plan/added', step: 'a' });
    expect(tx.state).toBe(tx.state);
  });

  test('a restore is rejected, and the transaction continues', async () => {
    const session = await open();
    await session.transaction(async (tx) => {
      expect(await rejection(tx.restore())).toMatchObject({ code: 'INVALID_ARGUMENT' });
      await tx.dispatch({ type: 'plan/added', step: 'a' });
    });
    expect(session.seq).toBe(1);
  });

  test('an unknown slice is an error that names it', async () => {
    const tx = (await open()).stage();
    const other = defineSlice({ name: 'other', initial: [], on: {} });
    expect(() => tx.select(other)).toThrow(expect.objectContaining({ code: 'SLICE_UNKNOWN' }));
  });
});

describe('D21: after a transaction has ended', () => {
  test('nothing can be added to it, however it ended', async () => {
    const session = await open();
    const kept: StagedSession[] = [];
    await session.transaction((tx) => {
      kept.push(tx as unknown as StagedSession);
    });
    await rejection(
      session.transaction((tx) => {
        kept.push(tx as unknown as StagedSession);
        throw new Error('no');
      }),
    );
    for (const tx of kept)
      expect(await rejection(tx.dispatch({ type: 'plan/added', step: 'late' }))).toMatchObject({
        code: 'SESSION_CLOSED',
      });
    expect(session.seq).toBe(0);
  });

  test('one without staged events appends nothing', async () => {
    const { store, counts } = countingStore(memoryStore());
    expect(await (await open(store)).transaction(() => 7)).toBe(7);
    expect(counts.appends).toBe(0);
  });

  test('events staged by a failed tool are appended as discarded: slices that roll back skip them, the others fold them', async () => {
    const store = memoryStore();
    const session = await open(store);
    const tx = session.stage();
    await tx.dispatch({ type: 'plan/added', step: 'undone' });
    await appendForLoop(session, tx.close() as readonly { type: string }[], { discarded: 1 });
    expect(await logIn(store)).toMatchObject([{ type: 'plan/added', discarded: true }]);
    expect(session.select(plan).all()).toEqual([]);
    expect(session.select(audit).all()).toEqual(['undone']);
  });
});
