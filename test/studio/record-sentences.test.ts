/** What the record says in sentences. */
import { expect, test } from 'vitest';
import type { CacheExplanation } from '../../src/history/inspect/explain-cache.ts';
import type { TimelineSpan } from '../../src/inspect.ts';
import { cacheSentence, percent } from '../../studio/src/record/cache-sentence.ts';
import { spanSentence } from '../../studio/src/record/span-sentence.ts';

const FROM = { from: '2026-01-01T00:00:00.000Z', fromSeq: 1 } as const;
const before = { messageId: 'm', role: 'tool', excerpt: 'x' } as const;
const removed = {
  sharedTokens: 210,
  previousTokens: 1750,
  stability: 0.12,
  difference: { region: 'message', index: 2, change: 'removed', before },
} as const;

test.for<readonly [CacheExplanation, string]>([
  [{ cause: 'first' }, 'This is the first request, so that no cache could hold its beginning.'],
  [
    { cause: 'hit' },
    'The cache was used: the request starts with the whole request before, and the provider read 900 of 1,000 input tokens from its cache.',
  ],
  [
    { cause: 'history', manager: 'sliding-window(6)', comparison: removed },
    'The cache was missed from message 3 on: sliding-window(6) left out a result that the request before had there. 12 % of the request before (210 of 1,750 tokens) is still the same beginning.',
  ],
  [
    { cause: 'idle', idleMs: 600_000 },
    'The cache had expired: the request starts with the whole request before, and was sent 10 min 0 s after its response.',
  ],
  [
    { cause: 'unknown' },
    'This server does not know the history manager custom, so that it cannot compare this request with the one before.',
  ],
])('a cache explanation is a sentence: %j', ([cache, expected]) => {
  const usage = { inputTokens: 1000, outputTokens: 5, cachedInputTokens: 900 };
  expect(cacheSentence({ cache, usage, model: 'm', strategy: 'custom' })).toBe(expected);
});

test('a share that is not everything is never 100 %, and one that is not nothing never 0 %', () => {
  expect([0, 0.001, 0.5, 0.999, 1].map(percent)).toEqual(['0 %', '1 %', '50 %', '99 %', '100 %']);
});

test.for<readonly [TimelineSpan, string]>([
  [
    { ...FROM, kind: 'down', by: 'process 7 on host', attempt: 2, kept: ['a', 'b'], open: ['c'] },
    'The process died, and process 7 on host resumed 2 s later (run 2). A and B were finished before and not repeated. C was open and had to be decided again.',
  ],
  [
    { ...FROM, kind: 'down', by: 'x', attempt: 3, kept: [], open: [] },
    'The process died, and x resumed 2 s later (run 3). No call was open.',
  ],
  [
    {
      ...FROM,
      kind: 'tool',
      turn: 1,
      callId: 'a',
      toolName: 'pay',
      lane: 0,
      attempt: 2,
      outcome: 'failed',
      effect: 'once',
    },
    'pay failed after 2 s. This was run 2. It must run once (once).',
  ],
  [
    {
      ...FROM,
      kind: 'tool',
      turn: 1,
      callId: 'a',
      toolName: 'pay',
      lane: 0,
      attempt: 1,
      outcome: 'completed',
      isRecovered: true,
    },
    'The result of pay was recorded after the crash without another run.',
  ],
  [
    { ...FROM, kind: 'approval', turn: 1, callId: 'a', toolName: 'pay', outcome: 'denied', by: 'ada' },
    'pay waited 2 s until it was denied by ada.',
  ],
])('a span is a sentence: %j', ([span, expected]) => {
  expect(spanSentence(span, 2000, (callId) => callId.toUpperCase())).toBe(expected);
});
