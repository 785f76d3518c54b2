/** Timelines as rows, and arrow keys between their spans. */
import { expect, test } from 'vitest';
import type { Timeline, TimelineEvaluation, TimelineSpan } from '../../src/inspect.ts';
import { ganttLayout, neighbourOf } from '../../studio/src/record/gantt-layout.ts';

const at = (second: number): string => new Date(second * 1000).toISOString();

function model(turn: number, from: number, to?: number): TimelineSpan {
  return {
    kind: 'model',
    turn,
    outcome: 'response',
    from: at(from),
    fromSeq: from,
    ...(to !== undefined && { to: at(to) }),
  };
}

function tool(name: string, lane: number, from: number, to: number): TimelineSpan {
  const call = { callId: name, toolName: name, attempt: 1, outcome: 'completed' } as const;
  return { kind: 'tool', turn: 1, lane, from: at(from), to: at(to), fromSeq: from, ...call };
}

function evaluation(
  id: string,
  spans: readonly TimelineSpan[],
  rest: Partial<TimelineEvaluation> = {},
): TimelineEvaluation {
  const own = { id, conversationId: 'main', prompt: `app/${id}`, from: at(0), to: at(9), fromSeq: 1 } as const;
  return { ...own, status: 'completed', turns: 1, lanes: 0, spans, ...rest };
}

const DOWN: TimelineSpan = {
  kind: 'down',
  from: at(4),
  to: at(6),
  fromSeq: 4,
  by: 'b',
  attempt: 2,
  kept: ['a'],
  open: [],
};
const child = evaluation('child', [model(1, 3, 4)], {
  conversationId: 'c',
  parent: { evaluationId: 'main', turn: 1, callId: 'a' },
});
const main = evaluation('main', [model(1, 0, 1), tool('a', 0, 1, 4), tool('b', 1, 1, 3), DOWN, model(2, 6, 8)], {
  lanes: 2,
});
const TIMELINE: Timeline = {
  evaluations: [main, evaluation('next', [model(1, 9)], { from: at(9) }), child],
  omitted: 0,
};

test('each lane is a row, and a child follows the evaluation that started it', () => {
  const { rows } = ganttLayout(TIMELINE, 10_000);
  expect(rows.map(({ label, depth }) => `${depth} ${label}`)).toEqual([
    '0 main',
    '0 model',
    '0 tools',
    '0 ',
    '1 child',
    '1 model',
    '0 next',
    '0 model',
  ]);
});

test('a process that was down covers the rows of its evaluation, and what lasts ends now', () => {
  const { spans, range } = ganttLayout(TIMELINE, 20_000);
  expect(spans.find(({ span }) => span.kind === 'down')).toMatchObject({ row: 1, rows: 3, from: 4000, to: 6000 });
  expect(spans.at(-1)).toMatchObject({ row: 7, from: 9000, to: 20_000 });
  expect(range).toEqual({ from: 0, to: 20_000 });
});

test('a child whose evaluation was left out is shown by itself', () => {
  const { rows } = ganttLayout({ evaluations: [child], omitted: 1 }, 0);
  expect(rows.map(({ label }) => label)).toEqual(['child', 'model']);
});

test.for([
  ['main.0', 'ArrowRight', 'main.1'],
  ['main.0', 'ArrowLeft', 'main.0'],
  ['main.1', 'ArrowDown', 'main.2'],
  ['main.2', 'ArrowUp', 'main.1'],
  ['main.2', 'ArrowDown', 'child.0'],
  ['main.1', 'ArrowUp', 'main.0'],
  ['main.4', 'Home', 'main.0'],
  ['main.0', 'End', 'next.0'],
  ['', 'ArrowRight', 'main.0'],
] as const)('from %s, %s leads to %s', ([from, key, to]) => {
  const { spans } = ganttLayout(TIMELINE, 10_000);
  expect(neighbourOf(spans, from, key)?.key).toBe(to);
});
