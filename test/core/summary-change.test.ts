/** Erasing folds a log again only if its summary depends on the erased event (D58). */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { erased, erasedSettlement } from '../../src/core/fold/erased.ts';
import type { SessionEvent } from '../../src/core/log/events.ts';
import { type SessionSummary, summarizeSession } from '../../src/core/summary/session-summary.ts';
import { changesSummary } from '../../src/core/summary/summary-fields.ts';
import { arbitraryLog } from './arbitraries.ts';
import { arbitraryEvents } from './arbitrary-events.ts';

function summaryOf(log: readonly SessionEvent[]): SessionSummary | undefined {
  return log.reduce<SessionSummary | undefined>(summarizeSession, undefined);
}

/** An event without the content of people, models and tools. */
function withoutWords(event: SessionEvent): SessionEvent {
  if (event.type === 'message/recorded' && 'message' in event) {
    return { ...event, message: erased(event.message as Parameters<typeof erased>[0]) } as SessionEvent;
  }
  return event.type === 'tool/settled' && 'how' in event
    ? ({ ...event, how: erasedSettlement(event.how as Parameters<typeof erasedSettlement>[0]) } as SessionEvent)
    : event;
}

test('if changesSummary returns false, replacing any event by any other does not change the summary', () => {
  fc.assert(
    fc.property(arbitraryLog, fc.nat(), fc.nat(), (log, i, j) => {
      fc.pre(log.length > 0);
      const before = log[i % log.length] as SessionEvent;
      const replacement = { ...(log[j % log.length] as SessionEvent), seq: before.seq, at: before.at } as SessionEvent;
      if (changesSummary(before, replacement)) return;
      const replaced = log.map((event) => (event === before ? replacement : event));
      expect(summaryOf(replaced)).toEqual(summaryOf(log));
    }),
  );
});

test('if changesSummary returns false, replacing an event of any type by one of any type and time does not change the summary', () => {
  fc.assert(
    fc.property(arbitraryEvents, arbitraryEvents, (log, others) => {
      const summary = summaryOf(log);
      for (const before of log) {
        for (const other of others) {
          const replacement = { ...other, seq: before.seq } as SessionEvent;
          if (changesSummary(before, replacement)) continue;
          const replaced = log.map((event) => (event === before ? replacement : event));
          expect(summaryOf(replaced)).toEqual(summary);
        }
      }
    }),
    { numRuns: 1000 },
  );
});

test('erasing the content of a message or a settlement does not change the summary', () => {
  fc.assert(
    fc.property(arbitraryLog, (log) => {
      for (const event of log) expect(changesSummary(event, withoutWords(event))).toBe(false);
    }),
  );
});

test.for<readonly [string, object, object, boolean]>([
  ['a title', { type: 'session/described', title: 'a' }, { type: 'session/described', title: 'b' }, true],
  ['a description that takes the place of a note', { type: 'a/b' }, { type: 'session/described', title: 'b' }, true],
  ['a note', { type: 'a/b', text: 'a' }, { type: 'a/b', text: 'b' }, false],
  ['an event that ends a suspension', { type: 'adapter/captured' }, { type: 'a/b' }, true],
  ['an event that only claims to be a message', { type: 'message/recorded', message: null }, { type: 'a/b' }, true],
])('%s: %j replaced by %j', ([, before, after, expected]) => {
  const place = { seq: 2, at: '2026-01-01T00:00:00.000Z' };
  expect(changesSummary({ ...before, ...place } as SessionEvent, { ...after, ...place } as SessionEvent)).toBe(
    expected,
  );
});

test.for([
  ["the session's start is the time of its first event", 'a/b', 1, true],
  ['a suspended session shows since when', 'session/suspended', 2, true],
  ['the time of any other event is not part of the summary', 'a/b', 2, false],
] as const)('%s', ([, type, seq, expected]) => {
  const event = (at: string) => ({ type: type as string, seq, at }) as SessionEvent;
  expect(changesSummary(event('a'), event('b'))).toBe(expected);
});
