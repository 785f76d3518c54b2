/** The summary of an imported session: what it says about files, and what folding it costs. */
import { expect, test } from 'vitest';
import { followSource, type SourceSummary, sourceFile } from '../../src/core/summary/source-summary.ts';

const described = { type: 'source/described', architecture: 'a', sessionId: 's', path: '/p', layout: 'files' } as const;

function recorded(file: string, offset = 0) {
  const place = { file, role: 'other', generation: 1, offset, bytes: 10, hash: 'h' } as const;
  return { type: 'source/recorded', encoding: 'utf8', data: '', ...place } as const;
}

test('each summary has the files of its own moment, in whatever order they are read', () => {
  const first = followSource(undefined, described);
  const second = followSource(first, recorded('x'));
  const third = followSource(second, { type: 'source/replaced', file: 'x', generation: 2 });
  const other = followSource(second, { ...recorded('__proto__'), redacted: true });
  expect(Object.entries(other.files)).toEqual([
    ['x', { generation: 1, end: 10 }],
    ['__proto__', { generation: 1, end: 10 }],
  ]);
  expect(other.redacted).toBe(true);
  expect(third.files).toEqual({ x: { generation: 2, end: 0 } });
  expect(followSource(third, { ...described, title: 't' })).toEqual({ ...third, title: 't' });
  expect(second.files).toEqual({ x: { generation: 1, end: 10 } });
  expect(first.files).toEqual({});
  const stored = JSON.parse(JSON.stringify(other)) as SourceSummary;
  expect(sourceFile(followSource(stored, recorded('y')), '__proto__')).toEqual({ generation: 1, end: 10 });
});

test('folding the records of very many files does not copy the files for each record', () => {
  let source = followSource(undefined, described);
  const count = 30_000;
  for (let i = 0; i < count; i++) source = followSource(source, recorded(`subagents/agent-${i}.jsonl`));
  for (let i = 0; i < count; i++) source = followSource(source, recorded(`subagents/agent-${i}.jsonl`, 10));
  expect(Object.keys(source.files).length).toBe(count);
  expect(sourceFile(source, 'subagents/agent-7.jsonl')).toEqual({ generation: 1, end: 20 });
});
