import { describe, expect, test, vi } from 'vitest';
import { defineSlice } from '../../src/core/fold/slices.ts';
import { evaluations, messages } from '../../src/core/views/session-view.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { started, user } from '../core/log.ts';
import { until } from './log-of.ts';

const plan = defineSlice({
  name: 'plan',
  initial: [] as string[],
  on: {
    'plan/added': (steps, event: { step: string }) => [...steps, event.step],
    'plan/touched': (steps) => steps,
  },
});
const other = defineSlice({ name: 'other', initial: [], on: {} });

describe('observe', () => {
  test('calls the observer after a commit that changed the slice, with the state before and after', async () => {
    const session = await openSession({ store: memoryStore(), id: 's1', slices: [plan] });
    const seen: unknown[] = [];
    session.observe(plan, (before, after) => {
      seen.push([before, after, session.seq]);
    });
    await session.dispatch({ type: 'plan/added', step: 'a' });
    await session.append([
      { type: 'plan/added', step: 'b' },
      { type: 'plan/added', step: 'c' },
    ]);
    expect(seen).toEqual([
      [[], ['a'], 1],
      [['a'], ['a', 'b', 'c'], 3],
    ]);
  });

  test('does not call the observer when nothing changed', async () => {
    const session = await openSession({ store: memoryStore(), id: 's1', slices: [plan, other] });
    const observer = vi.fn();
    session.observe(plan, observer);
    session.observe(other, observer);
    session.observe(messages, observer);
    session.observe(evaluations, observer);
    await session.append([
      { type: 'plan/touched' },
      { type: 'a/a' },
      { type: 'tool/approved', evaluationId: 'x', turn: 1, callId: 'a' },
    ]);
    expect(observer).not.toHaveBeenCalled();
  });

  test('works for the built-in slices', async () => {
    const session = await openSession({ store: memoryStore(), id: 's1' });
    const seen: string[] = [];
    session.observe(messages, (before, after) => void seen.push(`messages ${before.length} ${after.length}`));
    session.observe(evaluations, (before, after) => void seen.push(`evaluations ${before.length} ${after.length}`));
    await session.append([started(), user('hi', 0)]);
    expect(seen).toEqual(['messages 0 1', 'evaluations 0 1']);
  });

  test('an error of one observer reaches neither other observers nor the caller', async () => {
    const errors: unknown[] = [];
    const session = await openSession({
      store: memoryStore(),
      id: 's1',
      slices: [plan],
      onError: (error) => errors.push(error),
    });
    const after = vi.fn();
    session.observe(plan, () => {
      throw new Error('sync');
    });
    session.observe(plan, async () => {
      throw new Error('async');
    });
    session.observe(plan, after);
    await session.dispatch({ type: 'plan/added', step: 'a' });
    await until(() => errors.length === 2);
    expect(after).toHaveBeenCalledOnce();
    expect(errors).toEqual([new Error('sync'), new Error('async')]);
  });

  test('nor does an error of the error handler', async () => {
    const warned: unknown[] = [];
    const listen = (warning: Error) => warned.push(warning.message);
    process.on('warning', listen);
    const session = await openSession({
      store: memoryStore(),
      id: 's1',
      slices: [plan],
      onError: () => {
        throw new Error('the handler itself');
      },
    });
    session.observe(plan, () => {
      throw new Error('observer');
    });
    await session.dispatch({ type: 'plan/added', step: 'a' });
    await until(() => warned.length > 0);
    process.off('warning', listen);
    expect(warned).toEqual(['the handler itself']);
    expect(session.seq).toBe(1);
  });

  test('without an error handler an error is a process warning', async () => {
    const warned: Error[] = [];
    const listen = (warning: Error) => warned.push(warning);
    process.on('warning', listen);
    const session = await openSession({ store: memoryStore(), id: 's1', slices: [plan] });
    session.observe(plan, () => Promise.reject(new Error('nobody listens')));
    await session.dispatch({ type: 'plan/added', step: 'a' });
    await until(() => warned.length > 0);
    process.off('warning', listen);
    expect(warned[0]).toMatchObject({ name: 'HoldfastWarning', message: 'nobody listens' });
  });

  test('stops when it is called to stop, also from within the observer, and twice', async () => {
    const session = await openSession({ store: memoryStore(), id: 's1', slices: [plan] });
    const second = vi.fn();
    const stop = { first: () => {}, second: () => {} };
    const first = vi.fn(() => {
      stop.first();
      stop.second();
    });
    stop.first = session.observe(plan, first);
    stop.second = session.observe(plan, second);
    await session.dispatch({ type: 'plan/added', step: 'a' });
    await session.dispatch({ type: 'plan/added', step: 'b' });
    stop.first();
    expect(first).toHaveBeenCalledOnce();
    expect(second).not.toHaveBeenCalled();
  });

  test('observes commits of other handles without a refresh', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1', slices: [plan] });
    const writer = await openSession({ store, id: 's1', slices: [plan] });
    const seen: string[] = [];
    session.observe(plan, (_, after) => void seen.push(after.join()));
    await writer.dispatch({ type: 'plan/added', step: 'a' });
    await until(() => seen.length > 0);
    expect(seen).toEqual(['a']);
  });

  test('of an unknown slice is an error', async () => {
    const session = await openSession({ store: memoryStore(), id: 's1' });
    expect(() => session.observe(plan, () => {})).toThrow(expect.objectContaining({ code: 'SLICE_UNKNOWN' }));
    expect(() => session.select(plan)).toThrow(expect.objectContaining({ code: 'SLICE_UNKNOWN' }));
  });
});
