import { AskedCalls, inCallOrder, makesCall } from '../fold/asked-calls.ts';
import { evaluationMessages } from '../fold/evaluation-messages.ts';
import {
  type CallState,
  type CallStatus,
  type Evaluation,
  endedEvaluation,
  latestEvaluation,
  openCalls,
  openChildren,
} from '../fold/evaluations.ts';
import type { SessionState } from '../fold/fold.ts';
import { queuedAfter } from '../fold/session-inputs.ts';
import { frozen, frozenEach } from '../frozen.ts';
import { type KnownOptions, refuseUnknownOptions } from '../known-options.ts';
import type { List } from '../list.ts';
import type { InputContent, InputMode, SuspendReason } from '../log/events.ts';
import {
  type AssistantMessage,
  type ConversationMessage,
  callKey,
  callsOf,
  type ToolCall,
  type ToolMessage,
  textOf,
  type UserMessage,
} from '../log/messages.ts';
import { inputObstacle } from '../plan/run-plan.ts';

/** The views of a session, computed from its state (D1). Nothing here is stored, and every returned value is frozen (D69). */

/** Which evaluation a view is of. */
export interface EvaluationOptions {
  readonly evaluationId?: string | undefined;
}

/** Which messages `session.messages` returns. */
export interface MessagesOptions extends EvaluationOptions {
  /**
   * Also the messages of the evaluations that it continues: its own instructions, the messages of those, oldest first, then its own
   * messages. Its requests are built from this conversation.
   */
  readonly continued?: boolean | undefined;
}

/** Which evaluations `session.latestEvaluation` looks at. */
export interface LatestOptions {
  readonly ns?: string;
  readonly key?: string;
  readonly conversationId?: string;
}

const MESSAGES: KnownOptions<MessagesOptions> = { evaluationId: true, continued: true };
const EVALUATION: KnownOptions<EvaluationOptions> = { evaluationId: true };
const LATEST: KnownOptions<LatestOptions> = { ns: true, key: true, conversationId: true };

export function messagesIn({ record }: SessionState, options: MessagesOptions = {}): readonly ConversationMessage[] {
  refuseUnknownOptions('session.messages', options, MESSAGES);
  const { evaluationId, continued } = options;
  if (evaluationId === undefined) return frozen(record.messages.filter((message) => message.conversationId === 'main'));
  const evaluation = record.evaluations.get(evaluationId);
  if (!evaluation) return [];
  return frozenEach(continued ? evaluationMessages(record, evaluation) : evaluation.messages.toArray());
}

export function latestEvaluationIn({ record }: SessionState, options?: LatestOptions): Evaluation | undefined {
  refuseUnknownOptions('session.latestEvaluation', options, LATEST);
  return frozen(latestEvaluation(record.evaluations.items, options));
}

/** A call without a result, and what it waits for. */
export interface PendingCall extends CallState {
  /**
   * `approval`: a person has to approve or deny it. `outcome`: it was started, and a person has to settle what became of it. `time`: a
   * runner continues it then. Absent: it runs, or a runner runs it next.
   */
  readonly waitsFor?: 'approval' | 'outcome' | 'time';
}

export function pendingCallsIn(state: SessionState, options: EvaluationOptions = {}): readonly PendingCall[] {
  refuseUnknownOptions('session.pending', options, EVALUATION);
  const { evaluations } = state.record;
  const { evaluationId } = options;
  const evaluation = evaluationId === undefined ? latestEvaluationIn(state) : evaluations.get(evaluationId);
  const isOver = evaluation && endedEvaluation(evaluations, evaluation.id) !== undefined;
  return frozen(evaluation && !isOver ? pendingCalls(evaluations.items, evaluation) : []);
}

function pendingCalls(evaluations: List<Evaluation>, evaluation: Evaluation): readonly PendingCall[] {
  return openCalls(evaluation).flatMap((call) => {
    const children = openChildren(evaluations, call, evaluation.startedSeq);
    const theirs = children.flatMap((child) => pendingCalls(evaluations, child));
    if (theirs.length > 0) return theirs;
    const waitsFor = waitOf(call, evaluation);
    return waitsFor ? [{ ...call, waitsFor }] : [call];
  });
}

function waitOf(call: CallState, { status, reason }: Evaluation): PendingCall['waitsFor'] {
  if (call.deferred) return 'time';
  if (call.approvalRequest && !call.approval && call.status === 'pending') return 'approval';
  const isUnknown = status === 'suspended' && reason === 'TOOL_OUTCOME_UNKNOWN' && call.status === 'started';
  return isUnknown && !call.settlement && (call.effect ?? 'once') === 'once' ? 'outcome' : undefined;
}

/** An input that was sent and not placed yet. */
export interface QueuedInput {
  readonly id: string;
  readonly mode: InputMode;
  /** Its content. A large part is a reference to external content. */
  readonly content: InputContent;
  readonly at: string;
  /** The position of its event in the log. */
  readonly seq: number;
  readonly by?: string;
  /** The name of the agent that it is for. */
  readonly agent?: string;
  /** Why the evaluation before it does not end; absent when a runner would place the input. */
  readonly waitsFor?: SuspendReason | 'EVALUATION_FAILED';
}

export function queuedInputsIn(state: SessionState): readonly QueuedInput[] {
  return frozen(
    queuedAfter(state.record.inbox, 0).map((item): QueuedInput => {
      const { id, mode, content, at, seq, by, agent } = item;
      const waitsFor = inputObstacle(state, item);
      const named = { ...(by !== undefined && { by }), ...(agent !== undefined && { agent }) };
      return { id, mode, content, at, seq, ...named, ...(waitsFor && { waitsFor }) };
    }),
  );
}

/** A response with the results of its calls. */
export interface ConversationTurn {
  readonly evaluationId: string;
  readonly turnNumber: number;
  /** When the response was recorded. */
  readonly createdAt: string;
  /** What the user wrote since the response before it in this evaluation. */
  readonly userMessages: readonly UserMessage[];
  readonly assistantMessage: AssistantMessage;
  /** In call order, regardless of the order in which they finished. */
  readonly toolMessages: readonly ToolMessage[];
  /** Its calls, in call order. */
  readonly calls: readonly TurnCall[];
  /** The provider's metadata of the response, when `recordProviderMetadata` is on. */
  readonly providerPayload?: Readonly<Record<string, unknown>>;
}

/** A call of a turn: how it ended, and how long it took. */
export interface TurnCall {
  readonly callId: string;
  readonly name: string;
  /** By the log: `started` has no result yet, and after a crash its outcome may be unknown. A denied call has failed. */
  readonly status: CallStatus;
  /** The text of its result, if it failed. */
  readonly error?: string;
  /** When it was started last. Absent if no start is recorded: it only reads, was denied, or the provider ran it. */
  readonly startedAt?: string;
  /** From its start to its result; from the response, if no start is recorded. */
  readonly durationMs?: number;
}

export function turnsIn({ record }: SessionState, options: EvaluationOptions = {}): readonly ConversationTurn[] {
  refuseUnknownOptions('session.turns', options, EVALUATION);
  const { evaluationId } = options;
  const named = evaluationId === undefined ? undefined : record.evaluations.get(evaluationId);
  if (evaluationId !== undefined && !named) return [];
  const starts = new Map(record.toolStarts.map((start) => [callKey(start), start.at]));
  const evaluations = named
    ? [named]
    : record.evaluations.items.filter(({ conversationId }) => conversationId === 'main');
  return frozen(evaluations.flatMap((evaluation) => turnsOf(evaluation, starts)));
}

function turnsOf(evaluation: Evaluation, starts: ReadonlyMap<string, string>): readonly ConversationTurn[] {
  const turns: { userMessages: readonly UserMessage[]; assistantMessage: AssistantMessage; results: ToolMessage[] }[] =
    [];
  let userMessages: UserMessage[] = [];
  for (const message of evaluation.messages) {
    if (message.role === 'user') userMessages.push(message);
    else if (message.role === 'tool') {
      const { turn, toolCallId } = message;
      const asked = turns.findLast(
        ({ assistantMessage: asking }) => asking.turn === turn && makesCall(asking, toolCallId),
      );
      (asked ?? turns.at(-1))?.results.push(message);
    } else if (message.role === 'assistant') {
      turns.push({ userMessages, assistantMessage: message, results: [] });
      userMessages = [];
    }
  }
  return turns.map(({ userMessages, assistantMessage, results }) => ({
    evaluationId: evaluation.id,
    turnNumber: assistantMessage.turn,
    createdAt: assistantMessage.createdAt,
    userMessages,
    assistantMessage,
    toolMessages: inCallOrder(assistantMessage.toolCalls, results),
    calls: turnCalls(evaluation, assistantMessage, { results, starts }),
    ...(assistantMessage.providerMetadata && { providerPayload: assistantMessage.providerMetadata }),
  }));
}

function turnCalls(
  evaluation: Evaluation,
  response: AssistantMessage,
  given: { readonly results: readonly ToolMessage[]; readonly starts: ReadonlyMap<string, string> },
): readonly TurnCall[] {
  const { turn, createdAt } = response;
  const asked = new AskedCalls<ToolMessage>(callsOf(response));
  for (const result of given.results) asked.addResult(result.toolCallId, result);
  return (response.toolCalls ?? []).map((call): TurnCall => {
    const { callId, name, providerExecuted } = call;
    if (providerExecuted) return { callId, name, ...endAtProvider(providerExecuted) };
    const startedAt = given.starts.get(callKey({ evaluationId: evaluation.id, turn, callId }));
    const started = startedAt !== undefined && { startedAt };
    const result = asked.results[asked.calls.indexOf(call)];
    if (!result) {
      const open = evaluation.calls.find((other) => other.turn === turn && other.callId === callId);
      // The log of an earlier turn may have a start without a result: its evaluation was superseded, or another agent's.
      return { callId, name, status: open?.status ?? (started ? 'started' : 'pending'), ...started };
    }
    // Clocks of two processes may differ.
    const durationMs = Math.max(0, Date.parse(result.createdAt) - Date.parse(startedAt ?? createdAt));
    const end = result.isError
      ? { status: 'failed' as const, error: textOf(result) }
      : { status: 'completed' as const };
    return { callId, name, ...end, ...started, durationMs };
  });
}

/** How a call ended that the provider ran: its result is part of the response. */
function endAtProvider(call: NonNullable<ToolCall['providerExecuted']>): Pick<TurnCall, 'status' | 'error'> {
  if (!call.isError) return { status: 'completed' };
  return { status: 'failed', error: typeof call.result === 'string' ? call.result : JSON.stringify(call.result) };
}
