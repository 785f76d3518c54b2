import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Timeline, TimelineSpan, ToolSpan } from '../../src/core/views/timeline.ts';
import { TimelineBuilder, timelineOf } from '../../src/core/views/timeline-builder.ts';
import { agent, call, tool } from '../loop/agent.ts';
import { collect } from '../session/log-of.ts';
import { arbitraryLog } from './arbitraries.ts';
import {
  answer,
  type Draft,
  logOf,
  messageOf,
  recorded,
  refOf,
  result,
  started,
  timeOf,
  toolStarted,
  user,
} from './log.ts';

const resumed = (attempt: number): Draft => ({ type: 'evaluation/resumed', evaluationId: 'e1', attempt, by: 'p2' });
const brief = (spans: readonly TimelineSpan[] = []): readonly string[] =>
  spans.map((span) => {
    const { kind, fromSeq, toSeq } = span;
    const outcome = 'outcome' in span ? ` ${span.outcome}` : '';
    const lane = kind === 'tool' ? ` ${span.callId}#${span.attempt} lane ${span.lane}` : '';
    return `${kind}${lane}${outcome} ${fromSeq}..${toSeq ?? ''}`;
  });

test('parallel calls are on lanes of their own, which later calls use again', () => {
  const log = logOf(
    started(), // 1
    user('hi', 0), // 2
    answer(1, ['a', 'b', 'r']), // 3
    toolStarted('a', 'once'), // 4
    toolStarted('b', 'idempotent'), // 5
    result(2, 'b'), // 6
    result(3, 'r'), // 7: it only reads, so its start is not recorded
    result(4, 'a', { isError: true }), // 8
    answer(5, ['a'], { turn: 2 }), // 9
    { ...toolStarted('a', 'once'), turn: 2 }, // 10
    result(6, 'a', { turn: 2 }), // 11
    recorded(messageOf('assistant', 'done', 7, { turn: 3 })), // 12
    { type: 'evaluation/completed', evaluationId: 'e1' }, // 13
  );
  const [evaluation] = timelineOf(log).evaluations;
  expect(brief(evaluation?.spans)).toEqual([
    'model response 2..3',
    'tool a#1 lane 0 failed 4..8',
    'tool b#1 lane 1 completed 5..6',
    'tool r#1 lane 2 completed 3..7',
    'model response 8..9',
    'tool a#1 lane 0 completed 10..11',
    'model response 11..12',
  ]);
  expect(evaluation).toMatchObject({ status: 'completed', from: timeOf(1), to: timeOf(13), turns: 3, lanes: 3 });
});

test('after a crash the calls with a result are kept, the others end with the process and run again or are recovered', () => {
  const log = logOf(
    started(), // 1
    answer(0, ['a', 'b', 'c']), // 2
    toolStarted('a', 'idempotent'), // 3
    toolStarted('b', 'idempotent'), // 4
    toolStarted('c', 'once'), // 5
    result(1, 'a'), // 6
    resumed(2), // 7
    toolStarted('b', 'idempotent', 2), // 8
    result(2, 'b'), // 9
    result(3, 'c'), // 10: what reconcile knew
  );
  const [evaluation] = timelineOf(log).evaluations;
  expect(brief(evaluation?.spans)).toEqual([
    'model response 1..2',
    'tool a#1 lane 0 completed 3..6',
    'tool b#1 lane 1 interrupted 4..6',
    'tool c#1 lane 2 interrupted 5..6',
    'down 6..7',
    'tool b#2 lane 0 completed 8..9',
    'tool c#1 lane 1 completed 7..10',
    'model running 10..',
  ]);
  const down = evaluation?.spans.find(({ kind }) => kind === 'down');
  expect(down).toMatchObject({ by: 'p2', attempt: 2, kept: ['a'], open: ['b', 'c'], from: timeOf(6), to: timeOf(7) });
  expect(evaluation?.spans.at(-2)).toMatchObject({ isRecovered: true, effect: 'once' });
});

test('an approval lasts until the decision, and a suspension until the evaluation moves', () => {
  const log = logOf(
    started(), // 1
    answer(0, ['a']), // 2
    { type: 'tool/approval-requested', ...refOf('a'), toolName: 'write', expiresAt: timeOf(99) }, // 3
    {
      ...{ type: 'evaluation/suspended', evaluationId: 'e1', reason: 'APPROVAL_REQUIRED', message: 'ask', pending: [] },
    }, // 4
    { type: 'tool/approved', ...refOf('a'), by: 'ada' }, // 5
    resumed(2), // 6
    toolStarted('a', 'once'), // 7
    result(1, 'a'), // 8
  );
  const [evaluation] = timelineOf(log).evaluations;
  expect(brief(evaluation?.spans)).toEqual([
    'model response 1..2',
    'approval approved 3..5',
    'suspended 4..6',
    'tool a#1 lane 0 completed 7..8',
    'model running 8..',
  ]);
  expect(evaluation?.spans[1]).toMatchObject({ by: 'ada', expiresAt: timeOf(99) });
});

test('a response that a crash cut off is interrupted, and the time until the resume is down', () => {
  const log = logOf(
    started(),
    user('hi', 0),
    resumed(2),
    { type: 'message/interrupted', evaluationId: 'e1', conversationId: 'main', turn: 1, attempt: 1, blocks: [] },
    answer(1, []),
  );
  expect(brief(timelineOf(log).evaluations[0]?.spans)).toEqual([
    ...['down 2..3', 'model interrupted 2..2', 'model response 3..5', 'model running 5..'],
  ]);
});

test('a child conversation names the call that started it, and only the wanted evaluations are shown', () => {
  const parent = refOf('a');
  const log = logOf(
    started(),
    answer(0, ['a']),
    toolStarted('a', 'idempotent'),
    { ...(started('child') as object), conversationId: 'c1', parent } as Draft,
    answer(0, [], { evaluationId: 'child', conversationId: 'c1' }),
    { type: 'evaluation/completed', evaluationId: 'child' },
    result(1, 'a'),
  );
  const { evaluations } = timelineOf(log);
  expect(evaluations.map(({ id, parent: by }) => [id, by])).toEqual([
    ['e1', undefined],
    ['child', parent],
  ]);
  const builder = new TimelineBuilder({ only: new Set(['child']) });
  for (const event of log) builder.push(event);
  expect(builder.timeline().evaluations).toEqual([evaluations[1]]);
});

test('a timeline is bounded: the oldest evaluations are left out and counted', () => {
  const builder = new TimelineBuilder({ maxSpans: 5 });
  const log = logOf(
    ...Array.from({ length: 20 }, (_, i) => [
      started(`e${i}`),
      answer(0, [], { evaluationId: `e${i}` }),
      { type: 'evaluation/completed', evaluationId: `e${i}` },
    ]).flat(),
  );
  for (const event of log) builder.push(event);
  const { evaluations, omitted } = builder.timeline();
  expect(evaluations.map(({ id }) => id)).toEqual(['e15', 'e16', 'e17', 'e18', 'e19']);
  expect(omitted).toBe(15);
});

/** Spans end after they begin, and calls on one lane do not overlap. */
function expectSound({ evaluations }: Timeline): void {
  for (const { spans, lanes } of evaluations) {
    for (const { fromSeq, toSeq } of spans) expect(toSeq ?? Number.MAX_VALUE).toBeGreaterThanOrEqual(fromSeq);
    const ended = spans.filter((span): span is ToolSpan => span.kind === 'tool' && span.toSeq !== undefined);
    for (let lane = 0; lane < lanes; lane++) {
      const own = ended.filter((span) => span.lane === lane).toSorted((a, b) => a.fromSeq - b.fromSeq);
      for (const [i, span] of own.entries()) {
        const next = own[i + 1];
        if (next) expect(span.toSeq).toBeLessThanOrEqual(next.fromSeq);
      }
    }
  }
}

test('any log has a sound timeline, in any split', () => {
  fc.assert(
    fc.property(arbitraryLog, (log) => {
      expectSound(timelineOf(log));
    }),
    { numRuns: 300 },
  );
});

test('a run of the loop with parallel calls has one span for each call and each request', async () => {
  const one = await agent({
    script: ({ turn }) => (turn > 4 ? 'done' : { toolCalls: [call('work', { turn }), call('look', { turn })] }),
    tools: [tool('work', () => 'ok'), tool('look', () => 'seen', { effect: 'read' })],
  });
  await one.evaluate();
  const timeline = timelineOf(await collect(one.session.events()));
  expectSound(timeline);
  const spans = timeline.evaluations[0]?.spans ?? [];
  expect(spans.filter(({ kind }) => kind === 'model')).toHaveLength(5);
  expect(spans.filter(({ kind }) => kind === 'tool')).toHaveLength(8);
  expect(timeline.evaluations[0]?.lanes).toBe(2);
});
