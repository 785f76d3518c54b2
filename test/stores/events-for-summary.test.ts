/** What stores fold of an append is a copy of few fields: it gives the summary that the stored events give. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { NewEvent, SessionEvent } from '../../src/core/log/events.ts';
import { type SessionSummary, summarizeSession } from '../../src/core/summary/session-summary.ts';
import { decodeEvent, encodeEvent } from '../../src/stores/encoded-event.ts';
import { eventForSummary } from '../../src/stores/shell/appending.ts';
import { arbitraryEvents } from '../core/arbitrary-events.ts';

function summaryOf(log: readonly SessionEvent[]): SessionSummary | undefined {
  return log.reduce<SessionSummary | undefined>(summarizeSession, undefined);
}

/** The events of an append after `seq`, as the store folds them. */
function copiedOf(events: readonly NewEvent[], seq = 0): readonly SessionEvent[] {
  return events.map((event, i) => eventForSummary(event, encodeEvent(event), seq + i + 1));
}

/** The events as a store reads them again. */
function stored(events: readonly NewEvent[]): readonly SessionEvent[] {
  return events.map((event, i) => {
    const { at, type, data } = encodeEvent(event);
    return decodeEvent('s', i + 1, at, type, data);
  });
}

test('the copied fields of any events fold to the same summary as the stored events', () => {
  fc.assert(
    fc.property(arbitraryEvents, (events) => {
      const copied = copiedOf(events as readonly NewEvent[]);
      expect(summaryOf(copied)).toEqual(summaryOf(stored(events as readonly NewEvent[])));
    }),
    { numRuns: 2000 },
  );
});

test.for<[what: string, event: object]>([
  [
    'a field that JSON leaves out',
    { type: 'session/described', title: undefined, tags: ['x'], metadata: { a: undefined } },
  ],
  [
    'a field that JSON writes in another way',
    { type: 'session/described', metadata: { since: new Date(0), not: Number.NaN } },
  ],
  ['an event that says what its JSON is', { type: 'session/described', title: 'a', toJSON: () => ({ title: 'b' }) }],
])('%s is folded as it is stored', ([, fields]) => {
  const events = [{ at: '2026-01-01T00:00:00.000Z', ...fields } as NewEvent];
  expect(summaryOf(copiedOf(events))).toEqual(summaryOf(stored(events)));
});

test('the content of a message is not copied', () => {
  const content = [{ type: 'text', text: 'x' }];
  const event = {
    type: 'message/recorded',
    at: '',
    message: { role: 'user', content },
    model: 'm',
  } as unknown as NewEvent;
  const copied = eventForSummary(event, { at: 'now', type: 'message/recorded', data: '{}' }, 5);
  expect(copied).toEqual({ seq: 5, at: 'now', type: 'message/recorded', message: { role: 'user' } });
});
