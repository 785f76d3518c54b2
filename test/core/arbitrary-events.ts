/** Logs with events of every type, whose optional fields are there or not: for views that read few fields of many types. */
import fc from 'fast-check';
import type { BuiltInEvent, SessionEvent } from '../../src/core/log/events.ts';
import type { Usage } from '../../src/core/log/usage.ts';

type Fields<T extends BuiltInEvent['type']> = Omit<Extract<BuiltInEvent, { readonly type: T }>, 'seq' | 'at' | 'type'>;

const text = fc.constantFrom('', 'a', 'b', '__proto__');
const time = fc.nat({ max: 3 }).map((hour) => `2026-01-01T0${hour}:00:00.000Z`);
const count = fc.nat({ max: 3 });
const evaluationId = fc.constantFrom('e1', 'e2');
const inputId = fc.constantFrom('i1', 'i2');
const call = { evaluationId, turn: fc.nat({ max: 1 }), callId: fc.constantFrom('a', 'b') };
const usage: fc.Arbitrary<Usage> = some(
  { inputTokens: count, outputTokens: count },
  { cachedInputTokens: count, cacheWriteTokens: count, reasoningTokens: count, costUsd: fc.constantFrom(0.25, 0.5) },
);
const effect = fc.constantFrom('read', 'idempotent', 'once');
const error = fc.record({ code: fc.constant('EVALUATION_FAILED' as const), message: text });
const reason = fc.constantFrom(
  ...(['APPROVAL_REQUIRED', 'TOOL_OUTCOME_UNKNOWN', 'TIMER_PENDING', 'CANCELLED', 'BUDGET_EXCEEDED'] as const),
);
const status = fc.constantFrom('running', 'suspended', 'completed', 'failed', 'superseded');
const role = fc.constantFrom('system', 'user', 'assistant', 'tool');
const message = some(
  { role, ...call, content: fc.constant([{ type: 'text', text: 'x' }]) },
  { toolCallId: call.callId },
);
const restored = some(
  { id: evaluationId, conversationId: fc.constantFrom('main', 'child'), status },
  { reason, until: time, turn: count, usage, cancelRequest: fc.constant({ seq: 1, at: '' }) },
);

/** Records with these fields, some of which may be absent. */
function some<Required extends object, Optional extends object>(
  required: { [K in keyof Required]: fc.Arbitrary<Required[K]> },
  optional: { [K in keyof Optional]: fc.Arbitrary<Optional[K]> },
): fc.Arbitrary<Required & Partial<Optional>> {
  const all = { ...required, ...optional } as Record<string, fc.Arbitrary<unknown>>;
  return fc.record(all, { requiredKeys: Object.keys(required) }) as fc.Arbitrary<Required & Partial<Optional>>;
}

/** The fields of each type; the compiler reports a missing type. A log may lack fields that a view does not read. */
const FIELDS: { readonly [T in BuiltInEvent['type']]: fc.Arbitrary<Partial<Record<keyof Fields<T>, unknown>>> } = {
  'session/described': some(
    {},
    {
      title: text,
      tags: fc.array(text, { maxLength: 2 }),
      metadata: fc.dictionary(text, fc.constantFrom(1, null, 'a'), { maxKeys: 2 }),
    },
  ),
  'session/forked': fc.record({ origin: fc.record({ sessionId: text, seq: count }) }),
  'session/restored': fc.record({
    slices: some({}, { evaluations: fc.array(restored, { maxLength: 2 }), plan: text }),
  }),
  'session/suspended': some({ error, attempts: count }, { by: text }),
  'session/resumed': some({}, { by: text }),
  'evaluation/started': fc.record({ evaluationId, conversationId: fc.constantFrom('main', 'main', 'child') }),
  'message/recorded': some({ message }, { usage, inputId, model: text, finishReason: text }),
  'message/interrupted': fc.record({ evaluationId, turn: count, blocks: fc.constant([]) }),
  'message/erased': some({ messageId: text }, { reason: text }),
  'input/queued': fc.record({ inputId, mode: fc.constant('next'), content: fc.constant([]) }),
  'input/withdrawn': fc.record({ inputId, queuedSeq: fc.nat({ max: 10 }) }),
  'tool/started': fc.record({ ...call, toolName: text, effect, attempt: count }),
  'tool/approval-requested': some({ ...call, toolName: text }, { expiresAt: time, problem: text }),
  'tool/approved': some(call, { by: text, note: text, arguments: text }),
  'tool/denied': some(call, { by: text, reason: text }),
  'tool/settled': some({ ...call, how: fc.constantFrom({ rerun: true }, { result: 1 }) }, { by: text }),
  'tool/deferred': fc.record({ ...call, toolName: text, effect, attempt: count, until: time }),
  'evaluation/resumed': some({ evaluationId, attempt: count, by: text }, { after: fc.nat({ max: 10 }) }),
  'evaluation/cancel-requested': some({ evaluationId }, { by: text, reason: text }),
  'evaluation/resume-requested': some({ evaluationId }, { maxTurns: count, by: text }),
  'evaluation/suspended': some({ evaluationId, reason, message: text, pending: fc.constant([]) }, { until: time }),
  'evaluation/completed': fc.record({ evaluationId }),
  'evaluation/failed': fc.record({ evaluationId, error }),
  'evaluation/superseded': some({ evaluationId }, { by: evaluationId, reason: text }),
  'adapter/captured': fc.record({ snapshot: fc.constant({}) }),
  'history/curated': fc.record({ evaluationId, turn: count, strategy: text }),
  'history/summarized': some({ evaluationId, key: text, text }, { usage }),
  'source/described': some(
    { architecture: text, sessionId: text, path: text, layout: fc.constantFrom('files', 'rows') },
    { title: text, cwd: text, createdAt: time, messages: count },
  ),
  'source/recorded': some(
    { file: text, generation: count, offset: count, bytes: count, hash: text, data: text },
    {
      stamp: text,
      redacted: fc.constant(true as const),
      erased: fc.constantFrom([], [{ offset: 0, bytes: 1, hash: '' }]),
    },
  ),
  'source/replaced': fc.record({ file: text, generation: count }),
};

const byType = Object.entries(FIELDS).map(([type, fields]) =>
  fc.tuple(fields, time).map(([values, at]) => ({ ...values, type, at })),
);
const own = fc.tuple(text, time).map(([value, at]) => ({ type: 'note/added', at, text: value }));

/** A short log of any of these events, as a store returns it: after JSON. In a short one, more events matter to the end. */
export const arbitraryEvents: fc.Arbitrary<SessionEvent[]> = fc
  .array(fc.oneof(...byType, own), { maxLength: 10, size: 'max' })
  .map((events) => JSON.parse(JSON.stringify(events.map((event, i) => ({ ...event, seq: i + 1 })))) as SessionEvent[]);
