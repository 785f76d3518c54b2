import { expect, test } from 'vitest';
import { z } from 'zod';
import type { AdapterStateSnapshot } from '../../src/core/log/adapter-state.ts';
import {
  type AdapterState,
  adapterStateFor,
  composeAdapterStates,
  defineAdapterState,
  defineCompositeState,
  findCompositeState,
  findResumableState,
} from '../../src/evaluate.ts';
import { memoryStore, openSession, type Session } from '../../src/index.ts';

const kind = (adapterType: string) =>
  defineAdapterState({
    adapterType,
    schema: z.object({ adapterType: z.literal(adapterType), sessionId: z.string(), done: z.boolean().default(false) }),
    resumable: (state) => !state.done,
  });
const coder = kind('coder');
const reviewer = kind('reviewer');
const composite = defineCompositeState([coder, reviewer]);
const states: readonly AdapterState[] = [
  { adapterType: 'coder', sessionId: 'c1', done: true },
  { adapterType: 'reviewer', sessionId: 'r1', done: false },
];

async function sessionWith(...captured: readonly Omit<AdapterStateSnapshot, 'id' | 'capturedAt'>[]): Promise<Session> {
  const session = await openSession({ store: memoryStore(), id: 's' });
  for (const [i, snapshot] of captured.entries()) {
    const named = { ...snapshot, id: `as_${i}`, capturedAt: '2026-01-01T00:00:00.000Z' };
    await session.dispatch({ type: 'adapter/captured', snapshot: named });
  }
  return session;
}

test('a composite holds one state per adapter, and returns each adapter its own', () => {
  const state = composite.parse(composeAdapterStates(states));
  expect(adapterStateFor(state, 'coder')).toEqual(states[0]);
  expect(adapterStateFor(state, 'reviewer')).toEqual(states[1]);
  expect(adapterStateFor(state, 'toString')).toBeUndefined();
  expect(adapterStateFor(states[0] as AdapterState, 'coder')).toBe(states[0]);
  const newer = { adapterType: 'coder', sessionId: 'c2' };
  expect(adapterStateFor(composeAdapterStates([state, newer]), 'coder')).toBe(newer);
});

test('an adapter can resume from a composite if it can resume from one of the members', () => {
  expect(composite.resumable(composeAdapterStates(states))).toBe(true);
  expect(composite.resumable(composeAdapterStates(states.slice(0, 1)))).toBe(false);
  expect(composite.resumable(composeAdapterStates([{ adapterType: 'unknown-to-us' }]))).toBe(true);
});

test.for<[string, unknown]>([
  ['without states', { adapterType: 'composite' }],
  ['with a state under another adapter’s name', { adapterType: 'composite', states: { reviewer: states[0] } }],
  [
    'with a member that its own kind refuses',
    { adapterType: 'composite', states: { coder: { adapterType: 'coder' } } },
  ],
  ['larger than any state may be', composeAdapterStates([{ adapterType: 'x', text: 'x'.repeat(20_000) }])],
])('a composite %s is rejected', ([, value]) => {
  expect(() => composite.parse(value)).toThrow(expect.objectContaining({ code: 'ADAPTER_STATE_INVALID' }));
});

test('an adapter finds its state in a composite that was captured', async () => {
  const state = composite.parse(composeAdapterStates(states));
  const session = await sessionWith({ evaluationId: 'ev', state, resumable: composite.resumable(state) });
  expect(findResumableState(session, 'reviewer')).toEqual(states[1]);
  expect(findResumableState(session, 'other')).toBeUndefined();
});

test('the newest resumable state of each adapter in a session is one composite (D26)', async () => {
  const session = await sessionWith(
    { evaluationId: 'a', state: { adapterType: 'coder', sessionId: 'c1' }, resumable: true },
    { evaluationId: 'a', state: { adapterType: 'coder', sessionId: 'c2' }, resumable: true },
    { evaluationId: 'b', state: { adapterType: 'reviewer', sessionId: 'r1' }, resumable: true },
    { evaluationId: 'b', state: { adapterType: 'reviewer', sessionId: 'r1', done: true }, resumable: false },
  );
  expect(findCompositeState(session)).toEqual(composeAdapterStates([{ adapterType: 'coder', sessionId: 'c2' }]));
  expect(findCompositeState(await sessionWith())).toBeUndefined();
});
