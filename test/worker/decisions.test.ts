/** What a worker decides, without a store: which session is next, what can be done in one, and what follows from an error. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HoldfastError, type SessionEvent } from '../../src/index.ts';
import { judgeFailure, retryDelay } from '../../src/worker/back-off.ts';
import { countDiedRuns } from '../../src/worker/died-runs.ts';
import {
  chooseNext,
  countTags,
  mixed,
  type WaitingSession,
  WaitingSessions,
} from '../../src/worker/waiting-sessions.ts';
import { judgeSession } from '../../src/worker/work-search.ts';

const session = fc.record({ id: fc.uuid(), tags: fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 }) });

test('whatever waits and runs, starting what chooseNext returns exceeds no limit and leaves no place free', () => {
  fc.assert(
    fc.property(
      fc.array(session, { maxLength: 30 }),
      fc.array(session, { maxLength: 5 }),
      fc.record({ worker: fc.integer({ min: 1, max: 8 }), total: fc.integer({ min: 1, max: 12 }) }),
      fc.dictionary(fc.constantFrom('a', 'b'), fc.integer({ min: 1, max: 3 })),
      (waiting, elsewhere, limits, tags) => {
        const left: WaitingSession[] = [...waiting];
        const here: WaitingSession[] = [];
        const load = () => ({
          here: here.length,
          elsewhere: elsewhere.length,
          tags: countTags([...here, ...elsewhere]),
        });
        for (;;) {
          const next = chooseNext(left, load(), { ...limits, tags });
          if (!next) break;
          left.splice(left.indexOf(next), 1);
          here.push(next);
        }
        expect(here.length).toBeLessThanOrEqual(limits.worker);
        if (here.length > 0) expect(here.length + elsewhere.length).toBeLessThanOrEqual(limits.total);
        const counts = countTags(here);
        for (const [tag, most] of Object.entries(tags)) expect(counts.get(tag) ?? 0).toBeLessThanOrEqual(most);
        const hasPlace = here.length < limits.worker && here.length + elsewhere.length < limits.total;
        const { tags: now } = load();
        const isBlocked = left.every((one) => one.tags.some((tag) => (now.get(tag) ?? 0) >= (tags[tag] ?? 1e9)));
        expect(!hasPlace || isBlocked).toBe(true);
      },
    ),
  );
});

test.for([
  [{}, false, 'idle'],
  [{ work: 'input' }, false, 'run'],
  [{ work: 'input' }, true, 'held'],
  [{ wakeAt: '2026-01-01T00:00:00.000Z' }, false, 'run'],
  [{ wakeAt: '2026-01-01T00:00:00.001Z' }, false, 'sleeping'],
  [{ wakeAt: '2026-01-01T00:00:00.001Z', work: 'decision' }, false, 'run'],
] as const)('a session with %o, held: %s, is %s', ([summary, isHeld, verdict]) => {
  expect(judgeSession(summary, { now: Date.UTC(2026, 0, 1), isHeld })).toBe(verdict);
});

test('the back-off doubles from one second to one minute', () => {
  expect([1, 2, 3, 7, 8, 100].map(retryDelay)).toEqual([1000, 2000, 4000, 60_000, 60_000, 60_000]);
});

test.for([
  [new HoldfastError('SESSION_NOT_FOUND', ''), 'forget'],
  [new HoldfastError('SESSION_CONFLICT', '', { detail: 'fence' }), 'forget'],
  [new HoldfastError('STORE_FAILED', ''), 'retry'],
  [new HoldfastError('PROMPT_MISMATCH', ''), 'count'],
  [new Error('x'), 'count'],
] as const)('%o: %s', ([error, verdict]) => {
  expect(judgeFailure(error)).toBe(verdict);
});

test('mixing keeps every session, in its thousand', () => {
  const sessions = Array.from({ length: 2500 }, (_, i) => i);
  fc.assert(
    fc.property(fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })), (numbers) => {
      const order = mixed(sessions, () => numbers.next().value ?? 0);
      expect([...order].sort((a, b) => a - b)).toEqual(sessions);
      expect(order.map((i) => Math.floor(i / 1000))).toEqual(sessions.map((i) => Math.floor(i / 1000)));
    }),
    { numRuns: 10 },
  );
});

test('a worker that is alone starts what has waited longest; one that was overtaken mixes what waits', () => {
  const waiting = new WaitingSessions();
  const found = Array.from({ length: 4 }, (_, i) => ({ id: `s${i}`, tags: [], seq: 1 }));
  const next = (): string | undefined => waiting.take({ here: 0, elsewhere: 0, tags: new Map() }, { worker: 1 })?.id;
  waiting.addFound(found);
  expect([next(), next()]).toEqual(['s0', 's1']);
  const numbers = [0.8, 0.6, 0.4, 0.2];
  const reversing = new WaitingSessions(10, () => numbers.shift() ?? 0);
  reversing.addFound(found);
  reversing.contested();
  const order = found.map(() => reversing.take({ here: 0, elsewhere: 0, tags: new Map() }, { worker: 1 })?.id);
  expect(order).toEqual(['s3', 's2', 's1', 's0']);
});

const resumed = (evaluationId = 'a') => ({ type: 'evaluation/resumed', evaluationId });
const started = (toolName: string) => ({ type: 'tool/started', evaluationId: 'a', toolName });
const recorded = { type: 'message/recorded', message: {} };

test.for([
  ['its first runner died', [recorded, started('build')], 1, ['build']],
  ['each repeats the same call', [recorded, started('build'), resumed(), started('build')], 2, ['build']],
  ['responses were cut off', [recorded, resumed(), { type: 'message/interrupted' }, resumed()], 3, []],
  ['one resumed a child as well', [recorded, resumed(), resumed('child'), started('build')], 2, ['build']],
  ['the second made progress', [resumed(), resumed(), recorded], 1, []],
  ['a person sent something', [resumed(), resumed(), { type: 'input/queued' }], 1, []],
  ['a person resumed the session', [resumed(), { type: 'session/resumed' }, resumed()], 2, []],
] as const)('runs that died since the last progress, when %s', ([, tail, count, tools]) => {
  expect(countDiedRuns(tail as unknown as readonly SessionEvent[])).toEqual({ count, tools });
});

test('a worker that was overtaken lets go of all that a search found but a few, and of nothing that was rung for', () => {
  const waiting = new WaitingSessions(3);
  waiting.addFound(Array.from({ length: 20 }, (_, i) => ({ id: `s${i}`, tags: [], seq: 1 })));
  expect([waiting.size, waiting.hasLetGo]).toEqual([20, false]);
  waiting.rung('s19');
  waiting.contested();
  expect(waiting.hasLetGo).toBe(true);
  expect(waiting.has('s19')).toBe(true);
  expect(waiting.size).toBe(4);
  waiting.addFound([]);
  expect(waiting.hasLetGo).toBe(false);
});
