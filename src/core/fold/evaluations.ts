import type { ErrorCode } from '../errors.ts';
import type { List } from '../list.ts';
import type {
  DeferredOutcome,
  ProviderFailure,
  RaisedBudget,
  ReachedLimit,
  RequestRefusal,
  Settlement,
  SuspendReason,
  ToolEffect,
} from '../log/events.ts';
import type { CallRef, ConversationMessage } from '../log/messages.ts';
import type { Usage } from '../log/usage.ts';
import type { SummarizedEvent } from '../summary/summary-fields.ts';

/**
 * One run of a prompt, from its first message to its end. Folded from the log, never stored.
 *
 *     running ──▶ completed
 *        │  ▲ ──▶ failed
 *        ▼  │
 *     suspended ──▶ superseded ◀── failed, when it is abandoned
 */
export type EvaluationStatus = 'running' | 'suspended' | 'completed' | 'failed' | 'superseded';

/** The state of a call by the log: not started, started, or how it ended. */
export type CallStatus = 'pending' | 'started' | 'completed' | 'failed';

/** A tool call of the newest turn, with everything that the log holds about it. */
export interface CallState extends CallRef {
  readonly name: string;
  readonly arguments: string;
  /** `arguments` are redacted; `readCallArguments` returns the exact ones while the call is open. */
  readonly argumentsRedacted?: true;
  readonly status: CallStatus;
  /** How many times it was started. */
  readonly attempt: number;
  /** As recorded when it was started. */
  readonly effect?: ToolEffect;
  /** The fence of the lease under which it was started last. */
  readonly fence?: number;
  /** Present once the call was recorded as waiting for approval. */
  readonly approvalRequest?: ApprovalRequest;
  readonly approval?: 'approved' | 'denied';
  /** The person who approved or denied it, and when. */
  readonly decision?: Decision;
  readonly deniedBecause?: string;
  /** The arguments that a person approved instead of the model's, as JSON. */
  readonly editedArguments?: string;
  /** A person approved other arguments, which are stored outside the log; `readCallArguments` returns them. */
  readonly edited?: true;
  readonly settlement?: Settlement;
  /** Present while it waits for a time. */
  readonly deferred?: Deferral;
  /** Its arguments were erased with their message: it must not run. */
  readonly erased?: true;
}

/** A call waits for approval: since when and until when. */
export interface ApprovalRequest {
  readonly at: string;
  readonly expiresAt?: string;
  /** Why an earlier approval was rejected. */
  readonly problem?: string;
}

/** A call waits until a time: then it gets this result or, without one, its handler runs again. */
export interface Deferral {
  readonly until: string;
  readonly outcome?: DeferredOutcome;
}

/** The person who decided about a call, and when. */
export interface Decision {
  readonly at: string;
  readonly by?: string;
  readonly note?: string;
}

/** A request to stop an evaluation: by whom, when and why. */
export interface CancelRequest {
  /** The position of its event in the log. */
  readonly seq: number;
  readonly at: string;
  readonly by?: string;
  readonly reason?: string;
}

/** Limits that replace the runner's. */
export interface RaisedLimits {
  readonly budget?: RaisedBudget;
  readonly maxTurns?: number;
}

/** A request to continue a suspended evaluation, with its new limits. */
export interface ResumeRequest {
  /** The position of its event in the log. */
  readonly seq: number;
  readonly by?: string;
}

/** Why an evaluation is suspended, as its response describes it: a repeated run returns the same. */
export interface SuspensionDetails {
  readonly message: string;
  readonly failure?: ProviderFailure;
  readonly limit?: ReachedLimit;
}

/** One run of a prompt, as the log describes it. */
export interface Evaluation {
  readonly id: string;
  readonly conversationId: string;
  readonly promptNs: string;
  readonly promptKey: string;
  readonly promptHash: string;
  readonly inputHash: string;
  readonly paramsHash?: string;
  readonly key?: string;
  readonly continues?: string;
  readonly parent?: CallRef;
  readonly adapterType?: string;
  readonly startedAt: string;
  readonly startedSeq: number;
  readonly status: EvaluationStatus;
  /** How many times a process has started or resumed it, by the log; absent: once. */
  readonly attempt?: number;
  /** Why it is suspended. */
  readonly reason?: SuspendReason;
  /** The newest request to cancel it that no resume has overruled: pending while it is running, carried out while it is suspended. */
  readonly cancelRequest?: CancelRequest;
  /** The position of the suspension, while suspended. */
  readonly suspendedSeq?: number;
  /** What the suspension says beside its reason, while suspended; absent when a request to cancel has replaced that. */
  readonly suspension?: SuspensionDetails;
  /** When a runner continues it, while it is suspended until a time. */
  readonly until?: string;
  /** The newest request to resume it, while suspended. */
  readonly resumeRequest?: ResumeRequest;
  /** Limits that requests to resume have raised. */
  readonly raised?: RaisedLimits;
  /** The evaluation that replaced it; absent when it was abandoned. */
  readonly supersededBy?: string;
  /** The newest request that its model refused as too long, and the turn of that request. */
  readonly refusal?: RequestRefusal & { readonly turn: number };
  readonly error?: { readonly code: ErrorCode; readonly message: string };
  /** The newest turn, 0 before the first response. */
  readonly turn: number;
  readonly nextSequence: number;
  /** Its own messages in log order, without those of the evaluation that it `continues`. */
  readonly messages: List<ConversationMessage>;
  /** The calls of the newest assistant message, in call order. */
  readonly calls: readonly CallState[];
  /** The usage of its own responses. */
  readonly usage: Usage;
  /** The same including its child conversations: compared with a budget. */
  readonly totalUsage: Usage;
}

/** Whether an evaluation has not ended. */
export function isOpen({ status }: { readonly status?: EvaluationStatus | undefined }): boolean {
  return status === 'running' || status === 'suspended';
}

/**
 * The status of an evaluation after one of its events. An ended evaluation is never run again (I2, D14); a failed one can only be
 * superseded by abandoning it (D61). A suspended one that moves is running again, without an event of its own for that.
 */
export function statusAfter(status: EvaluationStatus, event: SummarizedEvent): EvaluationStatus {
  switch (event.type) {
    case 'evaluation/suspended':
      return isOpen({ status }) ? 'suspended' : status;
    case 'evaluation/completed':
      return isOpen({ status }) ? 'completed' : status;
    case 'evaluation/failed':
      return isOpen({ status }) ? 'failed' : status;
    case 'evaluation/superseded':
      return isOpen({ status }) || (status === 'failed' && event.by === undefined) ? 'superseded' : status;
    case 'evaluation/resumed':
    case 'message/recorded':
    case 'tool/started':
      return status === 'suspended' ? 'running' : status;
    default:
      return status;
  }
}

/** The evaluation that an event is about; `undefined` when it is about none. */
export function evaluationOf(event: SummarizedEvent): string | undefined {
  if (event.type === 'message/recorded') return event.message.evaluationId;
  return 'evaluationId' in event ? event.evaluationId : undefined;
}

/** Calls without a result, in call order. */
export function openCalls(evaluation: Evaluation): readonly CallState[] {
  return evaluation.calls.filter((call) => !hasResult(call));
}

/** Whether the log has a call's result. */
export function hasResult(call: CallState): boolean {
  return call.status === 'completed' || call.status === 'failed';
}

/** Whether a person has decided about a call that waited. A pending call that may run again still needs its approval. */
export function isDecided(call: CallState): boolean {
  const { status, approval, settlement } = call;
  if (hasResult(call) || (settlement && 'result' in settlement)) return true;
  return status === 'started' ? settlement !== undefined : approval !== undefined;
}

/** The state of one call of an evaluation's newest turn. */
export function findCall(
  evaluations: { get(id: string): Evaluation | undefined },
  ref: CallRef,
): CallState | undefined {
  return evaluations
    .get(ref.evaluationId)
    ?.calls.find(({ callId, turn }) => callId === ref.callId && turn === ref.turn);
}

/** The evaluation itself or its nearest ancestor, if it has ended: its descendants do not continue. */
export function endedEvaluation(
  evaluations: { get(id: string): Evaluation | undefined },
  evaluationId: string,
): Evaluation | undefined {
  let evaluation = evaluations.get(evaluationId);
  while (evaluation && isOpen(evaluation)) {
    const above: Evaluation | undefined = evaluation.parent && evaluations.get(evaluation.parent.evaluationId);
    evaluation = above && above.startedSeq < evaluation.startedSeq ? above : undefined;
  }
  return evaluation;
}

/** The open evaluations that a call started with `ctx.evaluate`. Only visits those that are newer than the call's own. */
export function openChildren(evaluations: List<Evaluation>, call: CallRef, since: number): readonly Evaluation[] {
  const children: Evaluation[] = [];
  for (let i = evaluations.length - 1; i >= 0; i--) {
    const child = evaluations.at(i);
    if (!child || child.startedSeq <= since) break;
    const { parent } = child;
    const isOwn =
      parent?.evaluationId === call.evaluationId && parent.turn === call.turn && parent.callId === call.callId;
    if (isOwn && isOpen(child)) children.unshift(child);
  }
  return children;
}

/** The newest evaluation of a conversation by log position, of one prompt if given (D12, D13). */
export function latestEvaluation(
  evaluations: List<Evaluation>,
  wanted: { readonly ns?: string; readonly key?: string; readonly conversationId?: string } = {},
): Evaluation | undefined {
  const { ns, key, conversationId = 'main' } = wanted;
  for (let i = evaluations.length - 1; i >= 0; i--) {
    const evaluation = evaluations.at(i);
    if (evaluation?.conversationId !== conversationId) continue;
    if (ns !== undefined && evaluation.promptNs !== ns) continue;
    if (key !== undefined && evaluation.promptKey !== key) continue;
    return evaluation;
  }
  return undefined;
}
