import { HoldfastError } from '../../core/errors.ts';
import { recordItemsProblem } from '../../core/fold/snapshot.ts';
import { type BuiltInEvent, isBuiltInEvent } from '../../core/log/events.ts';
import { inputProblem, isCount, isRecord, isUsage, messageProblem } from '../../core/log/message-problem.ts';

/** What an event must be before it may enter a log. Checked once, here: what is in a log is trusted from then on. */

const TYPE = /^[a-z][\w.-]*\/[\w./-]+$/i;

/** Returns the event, or throws a typed error that names the problem. */
export function validateEvent(event: unknown): { readonly type: string } {
  if (!isTyped(event)) throw unnamed();
  if (isBuiltInEvent(event)) return validateBuiltIn(event);
  if (!TYPE.test(event.type)) throw unnamed();
  return event;
}

function isTyped(event: unknown): event is { readonly type: string } {
  return isRecord(event) && typeof event.type === 'string';
}

function unnamed(): HoldfastError {
  return new HoldfastError(
    'EVENT_INVALID',
    'an event is an object with a type like "plan/added": a noun, a slash and what happened',
  );
}

function validateBuiltIn(event: BuiltInEvent): BuiltInEvent {
  const { type } = event;
  if (type === 'message/recorded') {
    const problem = messageProblem(event.message);
    if (problem) throw new HoldfastError('EVENT_INVALID', `this message cannot be recorded: ${problem}`);
  }
  if (type === 'session/restored' && isRecord(event.slices)) {
    const problem = recordItemsProblem(event.slices);
    if (problem) throw new HoldfastError('EVENT_INVALID', `this state cannot be restored: ${problem}`);
  }
  const wrong = CHECKS[type].find(([field, check]) => !check(event[field as keyof typeof event]));
  if (wrong) {
    throw new HoldfastError('EVENT_INVALID', `a ${type} event needs a valid "${wrong[0]}"; see its type`);
  }
  return event;
}

type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === 'string';
const time: Check = (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value));
const amount: Check = (value) => Number.isFinite(value) && Number(value) >= 0;
const list: Check = (value) => Array.isArray(value);
const texts: Check = (value) => Array.isArray(value) && value.every(text);
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const fields =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isRecord(value) && Object.entries(checks).every(([field, check]) => check(value[field]));

const CALL = { evaluationId: text, turn: isCount, callId: text, attempt: optional(isCount) };
const calls: Check = (value) => Array.isArray(value) && value.every(fields(CALL));
const unreconciled: Check = (value) =>
  Array.isArray(value) && value.every(fields({ ...CALL, status: text, problem: optional(text) }));
const EFFECTS = new Set<unknown>(['read', 'idempotent', 'once']);
const RANGE = { offset: isCount, bytes: isCount, hash: text };
const FILE_ROLES = new Set<unknown>(['main', 'subagent', 'meta', 'other']);
const ENCODINGS = new Set<unknown>(['utf8', 'base64', 'zstd', 'deflate']);
const settlement: Check = (value) => isRecord(value) && (value.rerun === true || 'result' in value);

/** What the fold reads of each built-in event. */
const FIELDS: { readonly [T in BuiltInEvent['type']]: Readonly<Record<string, Check>> } = {
  'session/described': { title: optional(text), tags: optional(texts), metadata: optional(isRecord) },
  'session/forked': { origin: fields({ sessionId: text, seq: isCount }) },
  'session/restored': { slices: (value) => isRecord(value) && Object.values(value).every(list) },
  'session/suspended': { error: fields({ code: text, message: text }), attempts: isCount, by: optional(text) },
  'session/resumed': { by: optional(text) },
  'evaluation/started': {
    evaluationId: text,
    conversationId: text,
    promptNs: text,
    promptKey: text,
    promptHash: text,
    inputHash: text,
    paramsHash: optional(text),
    key: optional(text),
    continues: optional(text),
    parent: optional(fields(CALL)),
  },
  'message/recorded': {
    usage: optional(isUsage),
    model: optional(text),
    finishReason: optional(text),
    inputId: optional(text),
  },
  'input/queued': {
    inputId: text,
    mode: (value) => value === 'next' || value === 'steer',
    content: (value) => inputProblem(value) === undefined,
    agent: optional(text),
    by: optional(text),
  },
  'input/withdrawn': { inputId: text, queuedSeq: isCount, by: optional(text) },
  'message/interrupted': {
    evaluationId: text,
    conversationId: text,
    turn: isCount,
    attempt: isCount,
    blocks: (value) =>
      Array.isArray(value) &&
      value.every(fields({ blockId: text, text, kind: optional(text), toolName: optional(text) })),
  },
  'message/erased': { messageId: text },
  'tool/started': {
    ...CALL,
    toolName: text,
    effect: (value) => EFFECTS.has(value),
    attempt: isCount,
    fence: optional(isCount),
  },
  'tool/approval-requested': { ...CALL, toolName: text, expiresAt: optional(text), problem: optional(text) },
  'tool/approved': { ...CALL, by: optional(text), note: optional(text), edited: optional((value) => value === true) },
  'tool/denied': { ...CALL, reason: optional(text), by: optional(text) },
  'tool/settled': { ...CALL, how: settlement, by: optional(text) },
  'tool/deferred': {
    ...CALL,
    toolName: text,
    effect: (value) => EFFECTS.has(value),
    attempt: isCount,
    until: time,
    outcome: optional(fields({ content: list, isError: (value) => typeof value === 'boolean' })),
  },
  'evaluation/resumed': { evaluationId: text, attempt: isCount, by: text, after: optional(isCount) },
  'evaluation/cancel-requested': { evaluationId: text, reason: optional(text), by: optional(text) },
  'evaluation/resume-requested': {
    evaluationId: text,
    budget: optional((value) => isRecord(value) && Object.values(value).every((limit) => Number(limit) >= 0)),
    maxTurns: optional(isCount),
    by: optional(text),
  },
  'evaluation/suspended': {
    evaluationId: text,
    reason: text,
    message: text,
    pending: calls,
    unreconciled: optional(unreconciled),
    failure: optional(fields({ provider: text, status: optional(isCount) })),
    limit: optional(fields({ name: text, max: optional(amount), used: optional(amount) })),
    until: optional(time),
  },
  'evaluation/completed': { evaluationId: text },
  'evaluation/failed': { evaluationId: text, error: fields({ code: text, message: text }) },
  'evaluation/superseded': {
    evaluationId: text,
    by: optional(text),
    reason: optional(text),
    abandonedBy: optional(text),
  },
  'adapter/captured': {
    snapshot: fields({ id: text, evaluationId: text, state: fields({ adapterType: text }), capturedAt: text }),
  },
  'history/curated': {
    evaluationId: text,
    turn: isCount,
    refused: optional(fields({ model: text, maxTokens: isCount })),
  },
  'history/summarized': { evaluationId: text, key: text, text, usage: optional(isUsage) },
  'source/described': {
    architecture: text,
    sessionId: text,
    path: text,
    layout: (value) => value === 'files' || value === 'rows',
    title: optional(text),
    cwd: optional(text),
    createdAt: optional(text),
    messages: optional(isCount),
  },
  'source/recorded': {
    ...RANGE,
    file: text,
    role: (value) => FILE_ROLES.has(value),
    agentId: optional(text),
    generation: isCount,
    encoding: (value) => ENCODINGS.has(value),
    data: optional(text),
    content: optional(text),
    stamp: optional(text),
    erased: optional((value) => Array.isArray(value) && value.every(fields({ ...RANGE, record: optional(text) }))),
  },
  'source/replaced': { file: text, generation: isCount },
};

const CHECKS = Object.fromEntries(
  Object.entries(FIELDS).map(([type, checks]) => [type, Object.entries(checks)]),
) as unknown as { readonly [T in BuiltInEvent['type']]: readonly (readonly [field: string, check: Check])[] };
