import type { KeyedList } from '../keyed-list.ts';
import { List } from '../list.ts';
import type { AdapterStateSnapshot } from '../log/adapter-state.ts';
import type {
  BuiltInEvent,
  EvaluationCompleted,
  EvaluationFailed,
  EvaluationResumeRequested,
  EvaluationStarted,
  EvaluationSuperseded,
  EvaluationSuspended,
  HistoryCurated,
  MessageRecorded,
  RequestRefusal,
  ToolStarted,
} from '../log/events.ts';
import type { CallRef, ConversationMessage } from '../log/messages.ts';
import { addUsage, NO_USAGE, type Usage } from '../log/usage.ts';
import { argumentKeysOf, hasArgumentsOutside } from './call-arguments.ts';
import { approved, deferred, denied, requested, requestedBySuspension, settled } from './call-decisions.ts';
import { erased, erasedCall } from './erased.ts';
import { requestCancel, requestResume, resume, withoutTimers, withStatusAfter } from './evaluation-changes.ts';
import { type CallState, type Evaluation, evaluationOf, isOpen } from './evaluations.ts';
import { growEvaluation } from './grow-evaluation.ts';
import { decodeRecord, emptyRecord } from './record-items.ts';
import {
  eraseInput,
  placeInput,
  queueInput,
  type SessionInputs,
  withdrawInput,
  withoutQueued,
} from './session-inputs.ts';

/**
 * The state that the built-in events fold to: messages, evaluations, tool starts, adapter states, usage. Pure; the cost of an
 * event does not depend on how many came before it.
 */
export interface SessionRecord {
  readonly messages: List<ConversationMessage>;
  /** In the order of their first event. */
  readonly evaluations: KeyedList<Evaluation>;
  readonly toolStarts: List<ToolStarted>;
  readonly adapterStates: List<AdapterStateSnapshot>;
  readonly usage: List<UsageRecord>;
  /** Summaries that were made for history managers, by key. */
  readonly summaries: KeyedList<Summary>;
  /** The inputs sent to the session. */
  readonly inbox: SessionInputs;
  /** The ids of evaluations with an open call whose arguments are stored outside the log. Empty in most sessions. */
  readonly redactedEvaluations: readonly string[];
}

/** The usage of one response. */
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

/** Folds one built-in event; returns the same object when nothing changed. Never throws on data. */
export function foldRecord(record: SessionRecord, event: BuiltInEvent): SessionRecord {
  switch (event.type) {
    case 'evaluation/started':
      return startEvaluation(record, event);
    case 'message/recorded':
    case 'tool/started':
      return recordRun(record, [event]);
    case 'message/erased':
      return eraseMessage(record, event.messageId);
    case 'tool/approval-requested':
      return changeCall(record, event, (call) => requested(call, event));
    case 'tool/approved':
      return changeCall(record, event, (call) => approved(call, event));
    case 'tool/denied':
      return changeCall(record, event, (call) => denied(call, event));
    case 'tool/settled':
      return changeCall(record, event, (call) => settled(call, event));
    case 'tool/deferred':
      return changeCall(record, event, (call) => deferred(call, event));
    case 'evaluation/resumed':
      return changeEvaluation(record, event.evaluationId, (e) => (isOpen(e) ? resume(e, event) : e));
    case 'evaluation/cancel-requested':
      return changeEvaluation(record, event.evaluationId, (e) => (isOpen(e) ? requestCancel(e, event) : e));
    case 'evaluation/resume-requested':
      return resumeRequested(record, event);
    case 'evaluation/suspended':
      return suspend(record, event);
    case 'evaluation/completed':
      return endOrPause(record, event, {});
    case 'evaluation/failed':
      return endOrPause(record, event, { error: event.error });
    case 'evaluation/superseded':
      return endOrPause(record, event, event.by === undefined ? {} : { supersededBy: event.by });
    case 'input/queued':
      return withInbox(record, queueInput(record.inbox, event));
    case 'input/withdrawn':
      return withInbox(record, withdrawInput(record.inbox, event));
    case 'session/forked':
      return withInbox(record, withoutQueued(record.inbox));
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
      // A restore into an empty session brings its conversation; an existing conversation is never rolled back (D21).
      return record.evaluations.length === 0 && Object.hasOwn(event.slices, 'messages')
        ? asRestored(decodeRecord(event.slices), event.seq)
        : record;
    case 'history/curated':
      return event.refused ? refuse(record, event, event.refused) : record;
    case 'message/interrupted':
    case 'session/described':
    case 'session/suspended': // only workers obey it: the summary has it (D79)
    case 'session/resumed':
    case 'source/described':
    case 'source/recorded': // its messages are a view through the source's parser (D75)
    case 'source/replaced':
      return record;
    default:
      return event satisfies never;
  }
}

/** The initial fields of an evaluation, whichever of its events comes first. */
type Beginning = Omit<
  Evaluation,
  | 'status'
  | 'turn'
  | 'nextSequence'
  | 'messages'
  | 'calls'
  | 'usage'
  | 'totalUsage'
  | 'reason'
  | 'error'
  | 'suspendedSeq'
  | 'suspension'
  | 'until'
>;

function newEvaluation(beginning: Beginning): Evaluation {
  return {
    ...beginning,
    status: 'running',
    turn: 0,
    nextSequence: 0,
    messages: List.empty(),
    calls: [],
    usage: NO_USAGE,
    totalUsage: NO_USAGE,
  };
}

/** A second start changes nothing, unless a message created the evaluation: then the start adds the missing fields. */
function startEvaluation(record: SessionRecord, event: EvaluationStarted): SessionRecord {
  const { seq, at, type: _, discarded: __, evaluationId: id, ...rest } = event;
  const there = record.evaluations.get(id);
  if (there && there.promptHash !== '') return record;
  const beginning = { ...rest, id, startedAt: there?.startedAt ?? at, startedSeq: there?.startedSeq ?? seq };
  const evaluation = there ? { ...there, ...beginning } : newEvaluation(beginning);
  return { ...record, evaluations: record.evaluations.put(evaluation) };
}

/** The events of an evaluation's turns: messages and starts of calls. */
export type RunEvent = MessageRecorded | ToolStarted;

/**
 * Folds consecutive messages and starts of one evaluation: a long run costs little more than its pushes. A message that is already
 * recorded changes nothing (D12).
 */
export function recordRun(record: SessionRecord, events: readonly RunEvent[]): SessionRecord {
  const [first] = events;
  if (!first) return record;
  const starts = events.filter((event) => event.type === 'tool/started');
  const begun = starts.length > 0 ? { ...record, toolStarts: record.toolStarts.pushAll(starts) } : record;
  const message = events.find((event) => event.type === 'message/recorded');
  const evaluation =
    record.evaluations.get(evaluationOf(first) ?? '') ?? (message && newEvaluation(beginningOf(message)));
  if (!evaluation) return begun; // calls of an unknown evaluation
  let { nextSequence } = evaluation;
  const fresh = events.filter((event) => {
    if (event.type === 'tool/started') return true;
    if (event.message.sequence < nextSequence) return false;
    nextSequence = event.message.sequence + 1;
    return true;
  });
  const { messages, own } = growEvaluation(record.messages, evaluation, fresh);
  if (messages === record.messages && own.calls === evaluation.calls) return begun;
  const grown: Evaluation = {
    ...withStatusAfter(evaluation, first),
    messages: own.messages,
    calls: own.calls,
    turn: own.turn,
    nextSequence,
  };
  const changed = { ...begun, messages, evaluations: record.evaluations.put(grown) };
  return fresh.reduce(recordBesides, withRedactedEvaluation(changed, grown));
}

/** Updates the inbox and the usage by a message. */
function recordBesides(record: SessionRecord, event: RunEvent): SessionRecord {
  if (event.type === 'tool/started') return record;
  const placed = event.inputId === undefined ? record : withInbox(record, placeInput(record.inbox, event));
  return event.usage ? recordUsage(placed, event, event.usage) : placed;
}

function withInbox(record: SessionRecord, inbox: SessionInputs): SessionRecord {
  return inbox === record.inbox ? record : { ...record, inbox };
}

function recordUsage(record: SessionRecord, { message, model }: MessageRecorded, usage: Usage): SessionRecord {
  const { evaluationId, turn } = message;
  const item: UsageRecord = model === undefined ? { evaluationId, turn, usage } : { evaluationId, turn, usage, model };
  return chargeUsage({ ...record, usage: record.usage.push(item) }, evaluationId, usage);
}

/** A message without a start, such as an imported one, starts its evaluation, without prompt text and input. */
function beginningOf({ seq, at, message }: MessageRecorded): Beginning {
  const { evaluationId: id, conversationId, promptNs, promptKey } = message;
  return { id, conversationId, promptNs, promptKey, promptHash: '', inputHash: '', startedAt: at, startedSeq: seq };
}

/**
 * The record of a snapshot that was restored into an empty session. Its positions are of another log: here they get the position of
 * the restore (D73). Its queued inputs stay with the other session (D61).
 */
function asRestored(record: SessionRecord, seq: number): SessionRecord {
  let { evaluations } = record;
  for (const evaluation of evaluations.items) {
    const { cancelRequest, suspendedSeq, resumeRequest } = evaluation;
    if (!cancelRequest && !resumeRequest && suspendedSeq === undefined) continue;
    evaluations = evaluations.put({
      ...evaluation,
      ...(cancelRequest && { cancelRequest: { ...cancelRequest, seq } }),
      ...(resumeRequest && { resumeRequest: { ...resumeRequest, seq } }),
      ...(suspendedSeq !== undefined && { suspendedSeq: seq }),
    });
  }
  return withInbox(
    evaluations === record.evaluations ? record : { ...record, evaluations },
    withoutQueued(record.inbox),
  );
}

/** Ends or suspends an evaluation, if the event may change it. */
function endOrPause(
  record: SessionRecord,
  event: EvaluationSuspended | EvaluationCompleted | EvaluationFailed | EvaluationSuperseded,
  change: Partial<Pick<Evaluation, 'reason' | 'error' | 'suspendedSeq' | 'suspension' | 'until' | 'supersededBy'>>,
): SessionRecord {
  return changeEvaluation(record, event.evaluationId, (e) => {
    const after = withStatusAfter(e, event);
    return after === e ? e : { ...after, ...change };
  });
}

function suspend(record: SessionRecord, event: EvaluationSuspended): SessionRecord {
  // A request to cancel came right before: the evaluation stays cancelled, whatever else it waits for (D73).
  const isCancelled = record.evaluations.get(event.evaluationId)?.cancelRequest !== undefined;
  const { message, failure, limit, until } = event;
  const suspension = { message, ...(failure && { failure }), ...(limit && { limit }) };
  const paused = endOrPause(record, event, {
    reason: isCancelled ? 'CANCELLED' : event.reason,
    suspendedSeq: event.seq,
    ...(!isCancelled && { suspension, ...(until !== undefined && { until }) }),
  });
  return event.pending.reduce(
    (marked, ref) => changeCall(marked, ref, (call) => requestedBySuspension(call, event)),
    paused,
  );
}

/** Requests to resume also end the timers of the evaluation's children: they are newer than it (D52). */
function resumeRequested(record: SessionRecord, event: EvaluationResumeRequested): SessionRecord {
  const named = record.evaluations.get(event.evaluationId);
  if (!named || !isOpen(named)) return record;
  let changed = changeEvaluation(record, named.id, (e) => requestResume(e, event));
  for (let i = record.evaluations.length - 1; i >= 0; i--) {
    const child = record.evaluations.items.at(i);
    if (!child || child.startedSeq <= named.startedSeq) break;
    if (child.parent && isOpen(child)) changed = changeEvaluation(changed, child.id, (e) => withoutTimers(e, event.at));
  }
  return changed;
}

function refuse(
  record: SessionRecord,
  { evaluationId, turn }: HistoryCurated,
  { model, maxTokens }: RequestRefusal,
): SessionRecord {
  return changeEvaluation(record, evaluationId, (e) => (isOpen(e) ? { ...e, refusal: { model, maxTokens, turn } } : e));
}

function changeEvaluation(
  record: SessionRecord,
  id: string,
  change: (evaluation: Evaluation) => Evaluation,
): SessionRecord {
  const evaluation = record.evaluations.get(id);
  if (!evaluation) return record;
  const changed = change(evaluation);
  const evaluations = record.evaluations.put(changed);
  return evaluations === record.evaluations ? record : withRedactedEvaluation({ ...record, evaluations }, changed);
}

/** Updates `redactedEvaluations` after an evaluation has changed. Its end also ends the calls of its children. */
function withRedactedEvaluation(record: SessionRecord, { id, calls }: Evaluation): SessionRecord {
  const { redactedEvaluations: known, evaluations } = record;
  const isNew = calls.some(hasArgumentsOutside) && !known.includes(id);
  if (known.length === 0 && !isNew) return record;
  const candidates = isNew ? [...known, id] : known;
  const redactedEvaluations = candidates.filter((one) => argumentKeysOf(evaluations, one).length > 0);
  return redactedEvaluations.length === known.length && !isNew ? record : { ...record, redactedEvaluations };
}

function changeCall(record: SessionRecord, ref: CallRef, change: (call: CallState) => CallState): SessionRecord {
  return changeEvaluation(record, ref.evaluationId, (evaluation) => {
    const call = evaluation.calls.find(({ callId, turn }) => callId === ref.callId && turn === ref.turn);
    const changed = call && change(call);
    if (!changed || changed === call) return evaluation;
    return {
      ...evaluation,
      calls: evaluation.calls.map((other) => (other === call ? changed : other)),
    };
  });
}

/** Adds to an evaluation's usage and to the total of every ancestor (D52). */
function chargeUsage(record: SessionRecord, evaluationId: string, usage: Usage | undefined): SessionRecord {
  if (!usage) return record;
  const asked = record.evaluations.get(evaluationId);
  if (!asked) return record;
  const spent = addUsage(asked.usage, usage);
  const total = asked.usage === asked.totalUsage ? spent : addUsage(asked.totalUsage, usage);
  let evaluations = record.evaluations.put({ ...asked, usage: spent, totalUsage: total });
  const charged = new Set([evaluationId]);
  for (let id = asked.parent?.evaluationId; id !== undefined && !charged.has(id); ) {
    charged.add(id);
    const above: Evaluation | undefined = evaluations.get(id);
    if (!above) break;
    evaluations = evaluations.put({ ...above, totalUsage: addUsage(above.totalUsage, usage) });
    id = above.parent?.evaluationId;
  }
  return { ...record, evaluations };
}

/** Erasing a message also drops every summary, since any may quote it; summaries can be created again. */
function eraseMessage(record: SessionRecord, messageId: string): SessionRecord {
  const at = record.messages.toArray().findIndex((message) => message.id === messageId);
  const message = at < 0 ? undefined : record.messages.at(at);
  if (!message) return record;
  const { summaries } = emptyRecord();
  const changed = { ...record, messages: record.messages.set(at, erased(message)), summaries };
  const withInput = withInbox(changed, eraseInput(changed.inbox, message));
  return changeEvaluation(withInput, message.evaluationId, (evaluation) => ({
    ...evaluation,
    messages: evaluation.messages.set(
      evaluation.messages.toArray().findIndex((other) => other.id === messageId),
      erased(message),
    ),
    calls: evaluation.calls.map((call) => (call.turn === message.turn ? erasedCall(call, message) : call)),
  }));
}
