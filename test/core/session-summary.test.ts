import fc from 'fast-check';
import { expect, test } from 'vitest';
import { summarizeSession } from '../../src/core/session-summary.ts';
import { arbitraryLog } from './arbitraries.ts';
import { type Draft, foldLog, logOf, started, timeOf, user } from './log.ts';

const summaryOf = (...drafts: readonly Draft[]) => foldLog(logOf(...drafts)).summary;

test('the first event, whatever it is, begins the session', () => {
  expect(summaryOf({ type: 'a/b' })).toEqual({ tags: [], metadata: {}, createdAt: timeOf(1) });
  expect(foldLog([]).summary).toBeUndefined();
});

test('a description replaces title and tags, merges metadata, and null removes a key', () => {
  expect(
    summaryOf(
      { type: 'session/described', title: 'one', tags: ['a'], metadata: { x: 1, y: { z: 2 } } },
      { type: 'session/described', metadata: { x: null, w: [3] } },
      { type: 'session/described', tags: [] },
    ),
  ).toEqual({ title: 'one', tags: [], metadata: { y: { z: 2 }, w: [3] }, createdAt: timeOf(1) });
});

test('metadata called __proto__ reaches no prototype', () => {
  const metadata = JSON.parse('{"__proto__":{"polluted":1},"constructor":2}') as Record<string, unknown>;
  const summary = summaryOf({ type: 'session/described', metadata });
  expect(Object.keys(summary?.metadata ?? {})).toEqual(['__proto__', 'constructor']);
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

const suspended: Draft = {
  type: 'evaluation/suspended',
  evaluationId: 'e1',
  reason: 'CANCELLED',
  message: '',
  pending: [],
};

test.for<readonly [string, readonly Draft[], string | undefined]>([
  ['nothing began', [], undefined],
  ['an evaluation began', [started()], 'running'],
  ['it waits', [started(), suspended], 'suspended'],
  ['it goes on', [started(), suspended, user('x', 0)], 'running'],
  ['it ended', [started(), { type: 'evaluation/completed', evaluationId: 'e1' }], 'completed'],
  [
    'it ended, and someone came late',
    [started(), { type: 'evaluation/completed', evaluationId: 'e1' }, suspended],
    'completed',
  ],
  ['another began since', [started(), { type: 'evaluation/completed', evaluationId: 'e1' }, started('e2')], 'running'],
  ['an older one ends', [started(), started('e2'), { type: 'evaluation/completed', evaluationId: 'e1' }], 'running'],
  [
    'a child ends',
    [started(), started('c', { conversationId: 'x' } as object), { type: 'evaluation/completed', evaluationId: 'c' }],
    'running',
  ],
])('the status is that of the newest evaluation: %s', ([, drafts, status]) => {
  expect(summaryOf({ type: 'a/b' }, ...drafts)?.status).toBe(status);
});

test('a restore into an empty session brings the status of the conversation with it', () => {
  const evaluations = [
    { id: 'e1', conversationId: 'main', status: 'suspended' },
    { id: 'c', conversationId: 'x', status: 'running' },
  ];
  expect(summaryOf({ type: 'session/restored', slices: { evaluations } })).toMatchObject({
    status: 'suspended',
    evaluationId: 'e1',
  });
  expect(summaryOf(started('e9'), { type: 'session/restored', slices: { evaluations } })).toMatchObject({
    evaluationId: 'e9',
  });
});

test('the origin of a fork is the newest: a fork of a fork names its own', () => {
  const forked = (sessionId: string): Draft => ({ type: 'session/forked', origin: { sessionId, seq: 1 } });
  expect(summaryOf(forked('a'), forked('b'))?.forkedFrom).toEqual({ sessionId: 'b', seq: 1 });
});

test('an event that says nothing about the session gives back the same summary', () => {
  fc.assert(
    fc.property(arbitraryLog, (log) => {
      const { summary } = foldLog(log);
      if (summary) expect(summarizeSession(summary, { seq: 99, at: timeOf(99), type: 'a/b' })).toBe(summary);
    }),
  );
});
