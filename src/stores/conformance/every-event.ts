import type { BuiltInEvent, NewEvent } from '../../core/log/events.ts';
import { message, note, response } from './harness.ts';

const AT = '2026-01-01T00:00:00.000Z';
const LATER = '2026-01-01T01:00:00.000Z';
const main = { evaluationId: 'e1' };
const call = { ...main, turn: 1, callId: 'c' };
const waits = { ...main, message: '', pending: [call] };

/** The fields of events of each type; the compiler reports a missing type. Together they set every field of a summary. */
const FIELDS: { readonly [T in BuiltInEvent['type']]: readonly object[] } = {
  'session/described': [{ title: 'T', tags: ['x'], metadata: { a: 1, b: null } }],
  'session/forked': [{ origin: { sessionId: 'origin', seq: 1 } }],
  'session/restored': [{ slices: { evaluations: [{ id: 'e0', conversationId: 'main', status: 'completed' }] } }],
  'source/described': [
    {
      architecture: 'codex',
      sessionId: 'x',
      path: '/x',
      layout: 'files',
      title: 'S',
      cwd: '/',
      createdAt: AT,
      messages: 2,
    },
  ],
  'source/recorded': [
    {
      file: 'f',
      role: 'main',
      generation: 1,
      encoding: 'utf8',
      offset: 0,
      bytes: 2,
      hash: 'h',
      data: 'ab',
      stamp: '1',
    },
    {
      file: 'g',
      role: 'main',
      generation: 1,
      encoding: 'utf8',
      offset: 0,
      bytes: 2,
      hash: 'h',
      data: 'ab',
      redacted: true,
      erased: [],
    },
  ],
  'source/replaced': [{ file: 'f', generation: 2 }],
  'evaluation/started': [
    { ...main, conversationId: 'main', promptNs: 'n', promptKey: 'k', promptHash: '', inputHash: '' },
  ],
  'input/queued': ['i1', 'i2', 'i3'].map((inputId) => ({
    inputId,
    mode: 'next',
    content: [{ type: 'text', text: 'x' }],
  })),
  'message/recorded': [
    { ...message('placed'), inputId: 'i1' },
    response({
      inputTokens: 1,
      outputTokens: 2,
      cachedInputTokens: 3,
      cacheWriteTokens: 4,
      reasoningTokens: 5,
      costUsd: 0.5,
    }),
    response(undefined),
  ],
  'message/interrupted': [{ ...main, conversationId: 'main', turn: 1, attempt: 1, blocks: [] }],
  'message/erased': [{ messageId: 'm-placed' }],
  'history/curated': [
    {
      ...{ ...main, turn: 1, promptName: 'p', strategy: 's', originalCount: 2, curatedCount: 1 },
      ...{ estimatedTokens: 1, prefixKept: 1 },
    },
  ],
  'history/summarized': [{ ...main, key: 'k', text: 'short', usage: { inputTokens: 10, outputTokens: 20 } }],
  'adapter/captured': [
    { snapshot: { id: 'x', ...main, state: { adapterType: 't' }, resumable: true, capturedAt: AT } },
  ],
  'tool/approval-requested': [{ ...call, toolName: 't', expiresAt: LATER }],
  'evaluation/suspended': [{ ...waits, reason: 'APPROVAL_REQUIRED', until: '2026-01-01T02:00:00.000Z' }],
  'session/suspended': [{ error: { code: 'INTERNAL', message: 'no' }, attempts: 3 }],
  'session/resumed': [{ by: 'ada' }],
  'tool/approved': [{ ...call, by: 'ada' }],
  'tool/denied': [{ ...call, by: 'ada' }],
  'tool/settled': [{ ...call, how: { rerun: true } }],
  'evaluation/resume-requested': [{ ...main, maxTurns: 9 }],
  'evaluation/resumed': [{ ...main, attempt: 2, by: 'p', after: 1 }],
  'tool/started': [{ ...call, toolName: 't', effect: 'once', attempt: 1 }],
  'tool/deferred': [{ ...call, toolName: 't', effect: 'once', attempt: 1, until: LATER }],
  'evaluation/cancel-requested': [{ ...main, by: 'ada' }],
  'input/withdrawn': [{ inputId: 'i2', queuedSeq: 1 }],
  'evaluation/completed': [main],
  'evaluation/superseded': [{ ...main, by: 'e2' }],
  'evaluation/failed': [{ ...main, error: { code: 'EVALUATION_FAILED', message: 'no' } }],
};

/** A log with events of every built-in type, and of a user's own. */
export const everyEvent: readonly NewEvent[] = [
  ...Object.entries(FIELDS).flatMap(([type, all]) => all.map((fields) => ({ ...fields, at: AT, type }) as NewEvent)),
  note(1),
];
