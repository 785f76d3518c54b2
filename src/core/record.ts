import type { AdapterStateSnapshot } from './adapter-state.ts';
import type { CallState, Evaluation } from './evaluations.ts';
import type { BuiltInEvent, EvaluationStarted, MessageRecorded, ToolStarted } from './events.ts';
import { KeyedList } from './keyed-list.ts';
import { List } from './list.ts';
import { type CallRef, type ConversationMessage, callsOf } from './messages.ts';
import { addUsage, NO_USAGE, type Usage } from './usage.ts';

/**
 * What the built-in events add up to: messages, evaluations, tool starts, adapter states, usage. Pure; the cost of an
 * event does not depend on how many came before it.
 */
export interface SessionRecord {
  readonly messages: List<ConversationMessage>;
  /** By first appearance (D12). */
  readonly evaluations: KeyedList<Evaluation>;
  readonly toolStarts: List<ToolStarted>;
  readonly adapterStates: List<AdapterStateSnapshot>;
  readonly usage: List<UsageRecord>;
  /** Summaries that were made for history managers, by key (D56). */
  readonly summaries: KeyedList<Summary>;
}

/** What one model answer cost. */
export interface UsageRecord {
  readonly evaluationId: string;
  readonly turn: number;
  readonly usage: Usage;
  readonly model?: string;
}

export interface Summary {
  readonly evaluationId: string;
  readonly key: string;
  readonly text: string;
}

/** A record of nothing. */
export function emptyRecord(): SessionRecord {
  return {
    messages: List.empty(),
    evaluations: KeyedList.from<Evaluation>([], (evaluation) => evaluation.id),
    toolStarts: List.empty(),
    adapterStates: List.empty(),
    usage: List.empty(),
    summaries: KeyedList.from<Summary>([], (summary) => `${summary.evaluationId}:${summary.key}`),
  };
}

/** Folds one built-in event; the same object when nothing changed. Never throws on data. */
export function foldRecord(record: SessionRecord, event: BuiltInEvent): SessionRecord {
  switch (event.type) {
    case 'evaluation/started':
      return record.evaluations.has(event.evaluationId)
        ? record
        : { ...record, evaluations: record.evaluations.put(startEvaluation(event)) };
    case 'message/recorded':
      return recordMessage(record, event);
    case 'message/erased':
      return eraseMessage(record, event.messageId);
    case 'tool/started':
      return {
        ...changeCall(record, event, (call) => {
          const { settlement: _, ...rest } = call; // a settlement speaks of the starts before it
          return { ...rest, status: 'started', effect: event.effect, attempt: event.attempt };
        }),
        toolStarts: record.toolStarts.push(event),
      };
    case 'tool/approved':
      return changeCall(record, event, (call) => ({ ...call, approval: 'approved' }));
    case 'tool/denied':
      return changeCall(record, event, (call) => ({
        ...call,
        approval: 'denied',
        ...(event.reason !== undefined && { deniedBecause: event.reason }),
      }));
    case 'tool/settled':
      return changeCall(record, event, (call) => ({ ...call, settlement: event.how }));
    case 'evaluation/suspended':
      return changeEvaluation(record, event.evaluationId, (e) => ({ ...e, status: 'suspended', reason: event.reason }));
    case 'evaluation/completed':
      return changeEvaluation(record, event.evaluationId, (e) => ({ ...running(e), status: 'completed' }));
    case 'evaluation/failed':
      return changeEvaluation(record, event.evaluationId, (e) => ({
        ...running(e),
        status: 'failed',
        error: event.error,
      }));
    case 'evaluation/superseded':
      return changeEvaluation(record, event.evaluationId, (e) => ({ ...running(e), status: 'superseded' }));
    case 'adapter/captured':
      return { ...record, adapterStates: record.adapterStates.push(event.snapshot) };
    case 'history/summarized':
      return chargeUsage(
        {
          ...record,
          summaries: record.summaries.put({ evaluationId: event.evaluationId, key: event.key, text: event.text }),
        },
        event.evaluationId,
        event.usage,
      );
    case 'session/restored':
      // Into an empty session a snapshot brings its conversation; a conversation that is there is never rolled back (D21).
      return record.messages.length === 0 && record.evaluations.length === 0 ? decodeRecord(event.slices) : record;
    case 'history/curated':
    case 'message/interrupted':
    case 'session/described':
    case 'session/forked':
      return record;
    default:
      return event satisfies never;
  }
}

function startEvaluation(event: EvaluationStarted): Evaluation {
  const { seq, at, type: _, discarded: __, evaluationId, ...rest } = event;
  return {
    ...rest,
    id: evaluationId,
    startedAt: at,
    startedSeq: seq,
    status: 'running',
    turn: 0,
    nextSequence: 0,
    messages: List.empty(),
    calls: [],
    usage: NO_USAGE,
    totalUsage: NO_USAGE,
  };
}

/** Puts a message where it belongs. One that is already there changes nothing (D12). */
function recordMessage(record: SessionRecord, event: MessageRecorded): SessionRecord {
  const { message } = event;
  const evaluation = record.evaluations.get(message.evaluationId);
  if (!evaluation) return { ...record, messages: record.messages.push(message) };
  if (message.sequence < evaluation.nextSequence) return record;
  const evaluations = record.evaluations.put(withMessage(evaluation, message));
  const usage = event.usage && {
    evaluationId: message.evaluationId,
    turn: message.turn,
    usage: event.usage,
    ...(event.model !== undefined && { model: event.model }),
  };
  const changed = {
    ...record,
    messages: record.messages.push(message),
    evaluations,
    ...(usage && { usage: record.usage.push(usage) }),
  };
  return chargeUsage(changed, message.evaluationId, event.usage);
}

function withMessage(evaluation: Evaluation, message: ConversationMessage): Evaluation {
  const base: Evaluation = {
    ...running(evaluation),
    nextSequence: message.sequence + 1,
    turn: Math.max(evaluation.turn, message.turn),
    messages: evaluation.messages.push(message),
  };
  if (message.role === 'assistant') return { ...base, calls: newCalls(evaluation.id, message) };
  if (message.role !== 'tool') return base;
  const status = message.isError ? 'failed' : 'completed';
  return {
    ...base,
    calls: evaluation.calls.map((call) =>
      call.callId === message.toolCallId && call.turn === message.turn ? { ...call, status } : call,
    ),
  };
}

function newCalls(evaluationId: string, message: ConversationMessage): readonly CallState[] {
  return callsOf(message).map((call) => ({
    evaluationId,
    turn: message.turn,
    callId: call.callId,
    name: call.name,
    arguments: call.arguments,
    status: 'pending',
    attempt: 0,
  }));
}

/** An evaluation that goes on after a suspension is running again: no event of its own says so. */
function running(evaluation: Evaluation): Evaluation {
  if (evaluation.status !== 'suspended') return evaluation;
  const { reason: _, ...rest } = evaluation;
  return { ...rest, status: 'running' };
}

function changeEvaluation(
  record: SessionRecord,
  id: string,
  change: (evaluation: Evaluation) => Evaluation,
): SessionRecord {
  const evaluation = record.evaluations.get(id);
  return evaluation ? { ...record, evaluations: record.evaluations.put(change(evaluation)) } : record;
}

function changeCall(
  record: SessionRecord,
  ref: CallRef & { readonly type: string },
  change: (call: CallState) => CallState,
): SessionRecord {
  return changeEvaluation(record, ref.evaluationId, (evaluation) => ({
    ...(ref.type === 'tool/started' ? running(evaluation) : evaluation),
    calls: evaluation.calls.map((call) => (call.callId === ref.callId && call.turn === ref.turn ? change(call) : call)),
  }));
}

/** Adds to an evaluation's usage and to the total of every evaluation above it (D52). */
function chargeUsage(record: SessionRecord, evaluationId: string, usage: Usage | undefined): SessionRecord {
  if (!usage) return record;
  let { evaluations } = record;
  let evaluation = evaluations.get(evaluationId);
  if (evaluation) evaluations = evaluations.put({ ...evaluation, usage: addUsage(evaluation.usage, usage) });
  for (let id: string | undefined = evaluationId, depth = 0; id !== undefined && depth < 100; depth++) {
    evaluation = evaluations.get(id);
    if (!evaluation) break;
    evaluations = evaluations.put({ ...evaluation, totalUsage: addUsage(evaluation.totalUsage, usage) });
    id = evaluation.parent?.evaluationId;
  }
  return { ...record, evaluations };
}

/** A message without what was said: its place, its role and its calls' names stay (D58). */
export function erased(message: ConversationMessage): ConversationMessage {
  const content = [{ type: 'text', text: '[erased]' }] as const;
  if (message.role !== 'assistant') return { ...message, content };
  return {
    ...message,
    content,
    ...(message.toolCalls && {
      toolCalls: message.toolCalls.map((call) => ({
        ...call,
        arguments: '{}',
        after: 1,
        ...(call.providerExecuted && { providerExecuted: {} }),
      })),
    }),
  };
}

function eraseMessage(record: SessionRecord, messageId: string): SessionRecord {
  const at = record.messages.toArray().findIndex((message) => message.id === messageId);
  const message = record.messages.at(at);
  if (at < 0 || !message) return record;
  const blank = erased(message);
  const changed = { ...record, messages: record.messages.set(at, blank) };
  return changeEvaluation(changed, message.evaluationId, (evaluation) => ({
    ...evaluation,
    messages: evaluation.messages.set(
      evaluation.messages.toArray().findIndex((other) => other.id === messageId),
      blank,
    ),
  }));
}

/** The items of the record's slices, as snapshots hold them: an evaluation without the messages that are listed beside it. */
export function encodeRecord(record: SessionRecord): Readonly<Record<string, readonly unknown[]>> {
  return {
    messages: record.messages.toArray(),
    evaluations: record.evaluations.items.map(({ messages: _, ...evaluation }) => evaluation),
    toolStarts: record.toolStarts.toArray(),
    adapterStates: record.adapterStates.toArray(),
    usage: record.usage.toArray(),
    summaries: record.summaries.items.toArray(),
  };
}

/** The inverse of `encodeRecord`. The items were checked by `parseSnapshot` or come from our own log. */
export function decodeRecord(slices: Readonly<Record<string, readonly unknown[]>>): SessionRecord {
  const items = <T>(name: string): readonly T[] => (slices[name] ?? []) as readonly T[];
  const messages = items<ConversationMessage>('messages');
  const own = new Map<string, List<ConversationMessage>>();
  for (const message of messages) {
    own.set(message.evaluationId, (own.get(message.evaluationId) ?? List.empty<ConversationMessage>()).push(message));
  }
  const empty = emptyRecord();
  let { evaluations, summaries } = empty;
  for (const evaluation of items<Evaluation>('evaluations')) {
    evaluations = evaluations.put({ ...evaluation, messages: own.get(evaluation.id) ?? List.empty() });
  }
  for (const summary of items<Summary>('summaries')) summaries = summaries.put(summary);
  return {
    messages: List.from(messages),
    evaluations,
    toolStarts: List.from(items<ToolStarted>('toolStarts')),
    adapterStates: List.from(items<AdapterStateSnapshot>('adapterStates')),
    usage: List.from(items<UsageRecord>('usage')),
    summaries,
  };
}
