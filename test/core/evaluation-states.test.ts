/** Compares the table of an evaluation's states in SPEC.md with the fold: each event in each state (D13). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { answer, type Draft, foldLog, logOf, result, started } from './log.ts';

const E = { evaluationId: 'e1' };
const suspended: Draft = { type: 'evaluation/suspended', ...E, reason: 'CANCELLED', message: '', pending: [] };
const failed: Draft = { type: 'evaluation/failed', ...E, error: { code: 'EVALUATION_FAILED', message: 'no' } };

/** An evaluation with a call that has no result. */
const begun = [started(), answer(0, ['a'])];

const STATES: Readonly<Record<string, readonly Draft[]>> = {
  '(none)': [],
  running: begun,
  suspended: [...begun, suspended],
  completed: [...begun, { type: 'evaluation/completed', ...E }],
  failed: [...begun, failed],
  superseded: [...begun, { type: 'evaluation/superseded', ...E, by: 'e2' }],
};

const EVENTS: Readonly<Record<string, Draft>> = {
  'evaluation/started': started(),
  'message/recorded': result(1, 'a'),
  'tool/started': { type: 'tool/started', ...E, turn: 1, callId: 'a', toolName: 'write', effect: 'once', attempt: 1 },
  'tool/approved': { type: 'tool/approved', ...E, turn: 1, callId: 'a' },
  'evaluation/resumed': { type: 'evaluation/resumed', ...E, attempt: 2, by: 'process 1' },
  'evaluation/cancel-requested': { type: 'evaluation/cancel-requested', ...E },
  'evaluation/resume-requested': { type: 'evaluation/resume-requested', ...E },
  'evaluation/suspended': suspended,
  'evaluation/completed': { type: 'evaluation/completed', ...E },
  'evaluation/failed': failed,
  'evaluation/superseded with `by`': { type: 'evaluation/superseded', ...E, by: 'e2' },
  'evaluation/superseded without': { type: 'evaluation/superseded', ...E },
};

function statusAfter(before: readonly Draft[], event: Draft): string {
  return foldLog(logOf(...before, event)).record.evaluations.get('e1')?.status ?? '';
}

test('the table of states and events in SPEC.md matches the fold', () => {
  const states = Object.keys(STATES);
  const rows = Object.entries(EVENTS).map(([name, event]) => {
    const cells = Object.entries(STATES).map(([state, before]) => {
      const after = statusAfter(before, event);
      return after === state || after === '' ? '·' : after;
    });
    return `| ${name} | ${cells.join(' | ')} |`;
  });
  const table = [`| event | ${states.join(' | ')} |`, `| --- |${' --- |'.repeat(states.length)}`, ...rows].join('\n');
  expect(readFileSync(join(import.meta.dirname, '../../SPEC.md'), 'utf8')).toContain(table);
});
