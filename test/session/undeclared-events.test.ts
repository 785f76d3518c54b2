import { describe, expect, test } from 'vitest';
import { appendAll, defineSlice } from '../../src/core/fold/slices.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { rejection } from './log-of.ts';

const things = defineSlice({
  name: 'things',
  initial: [],
  on: { 'thing/happened': appendAll, 'a/a': appendAll },
});

describe('I10: an event that no slice folds', () => {
  const unfolded = { type: 'thing/hapened', n: 1 } as never;
  const refused = {
    code: 'EVENT_INVALID',
    message: expect.stringMatching(/no slice of this session folds "thing\/hapened"; did you mean "thing\/happened"\?/),
  };

  test('is refused by dispatch, and nothing is recorded, in a session and in a transaction', async () => {
    const session = await openSession({ store: memoryStore(), id: 's1', slices: [things] });
    expect(await rejection(session.dispatch(unfolded))).toMatchObject(refused);
    expect(await rejection(session.transaction((tx) => tx.dispatch(unfolded)))).toMatchObject(refused);
    expect(await rejection(session.stage().dispatch(unfolded))).toMatchObject(refused);
    expect(session.seq).toBe(0);
    const bare = await openSession({ store: memoryStore(), id: 's1' });
    expect(await rejection(bare.dispatch({ type: 'a/a' } as never))).toMatchObject({
      message: expect.stringContaining('open the session with the slice that does'),
    });
  });

  test('is recorded by append, also beside others, and by dispatch once a slice declares it', async () => {
    const declared = defineSlice({ name: 'declared', initial: 0, on: { 'note/added': (state) => state } });
    const session = await openSession({ store: memoryStore(), id: 's1', slices: [things, declared] });
    await session.append([unfolded, { type: 'thing/happened' }]);
    await session.dispatch({ type: 'note/added' });
    expect([session.seq, session.select(declared).get()]).toEqual([3, 0]);
  });

  test('does not concern built-in events, nor the fork or the restore of a log that has one', async () => {
    const session = await openSession({ store: memoryStore(), id: 's1', slices: [things] });
    await session.append([unfolded]);
    await session.dispatch({ type: 'session/described', title: 'A title' });
    const fork = await session.fork();
    await fork.dispatch({ type: 'a/a' });
    expect(await rejection(fork.dispatch(unfolded))).toMatchObject(refused);
    await session.restore(session.snapshot());
    expect(session.seq).toBe(3);
  });
});
