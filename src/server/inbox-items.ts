import {
  type CallState,
  type Evaluation,
  isDecided,
  latestEvaluation,
  type RaisedLimits,
} from '../core/fold/evaluations.ts';
import type {
  EvaluationSuspended,
  ReachedLimit,
  SuspendReason,
  ToolEffect,
  UnknownReconcile,
} from '../core/log/events.ts';
import { type CallRef, callKey } from '../core/log/messages.ts';
import type { CallProgress } from '../core/log/progress.ts';
import type { Usage } from '../core/log/usage.ts';
import { readCallProgress } from '../loop/calls/call-progress.ts';
import type { SessionInfo } from '../ports/store.ts';
import { argumentsOf } from '../session/people/call-arguments.ts';
import type { AnySession } from '../session/session.ts';

/** What waits for a person in one session. */

interface Waiting {
  readonly session: InboxSession;
  readonly evaluationId: string;
  /** Since when it waits. */
  readonly since: string;
  /** Why, as a sentence. */
  readonly message: string;
}

/** The session of an item. */
export interface InboxSession {
  readonly id: string;
  readonly title?: string;
  /** The folder that the agent works in, `metadata.cwd`. */
  readonly project?: string;
  readonly updatedAt: string;
  readonly queued: number;
}

interface WaitingCall extends Waiting {
  /** Names the call in the acting routes. */
  readonly call: CallRef;
  readonly toolName: string;
  /** The arguments that it runs with, as JSON text; the redacted ones if those are not in this store. */
  readonly arguments: string;
  readonly isExact: boolean;
}

/** A call that runs when a person approves it: `POST …/calls/approve` or `…/calls/deny`. */
export interface ApprovalItem extends WaitingCall {
  readonly kind: 'approval';
  readonly expiresAt?: string;
  /** Why the last approval was rejected. */
  readonly problem?: string;
}

/** A call that may have happened: `POST …/calls/settle` with its result, or `rerun`. */
export interface OutcomeItem extends WaitingCall {
  readonly kind: 'outcome';
  readonly effect?: ToolEffect;
  readonly attempt: number;
  /** Why the `reconcile` of its tool did not find out; absent if it has none, or the log is from before this was recorded. */
  readonly reconcile?: UnknownReconcile;
  /** What the tool had reported when its process died. */
  readonly progress?: CallProgress;
}

/** An evaluation that reached a limit: `POST …/resume` with a higher one, or `…/abandon`. */
export interface LimitItem extends Waiting {
  readonly kind: 'limit';
  readonly reason: Extract<SuspendReason, 'BUDGET_EXCEEDED' | 'TURN_LIMIT' | 'DEADLINE_EXCEEDED'>;
  /** The limit, unless it is a deadline or the log is from before it was recorded. */
  readonly limit?: ReachedLimit;
  readonly usage: Usage;
  readonly turns: number;
  /** Limits that earlier resumes have raised. */
  readonly raised?: RaisedLimits;
}

/** A provider that returned no response: `POST …/resume` tries again. */
export interface ProviderItem extends Waiting {
  readonly kind: 'provider';
  readonly provider?: string;
  /** The HTTP status of its last refusal. */
  readonly status?: number;
}

/** A failed evaluation that holds up queued inputs: `POST …/abandon` lets them through. */
export interface FailedItem extends Waiting {
  readonly kind: 'failed';
  readonly code: string;
}

/** A session whose runs failed again and again: `POST …/resume` lets workers try again (D79). */
export interface StoppedItem extends Omit<Waiting, 'evaluationId'> {
  readonly kind: 'stopped';
  readonly code: string;
  readonly attempts: number;
}

/** Something that waits for a person. */
export type InboxItem = ApprovalItem | OutcomeItem | LimitItem | ProviderItem | FailedItem | StoppedItem;

/** Whether something in a session may wait for a person, by its row in a listing. */
export function mayWait({ status, work, queued = 0 }: SessionInfo): boolean {
  if (status === 'failed') return queued > 0;
  return status === 'suspended' && (work === undefined || work === 'decision');
}

/** What waits for a person in a session. */
export async function inboxItems(session: AnySession, info: SessionInfo): Promise<readonly InboxItem[]> {
  const of = sessionOf(info);
  const { suspended } = session.summary ?? {};
  if (suspended) {
    const { error, attempts, at } = suspended;
    return [{ kind: 'stopped', session: of, since: at, ...error, attempts }];
  }
  const evaluation = latestEvaluation(session.state.record.evaluations.items);
  if (!evaluation) return [];
  if (evaluation.status === 'failed') return [failedItem(of, evaluation, info)];
  if (evaluation.status !== 'suspended') return [];
  const suspension = await suspensionOf(session, evaluation);
  if (!suspension || suspension.reason === 'CANCELLED') return [];
  const { at: since, message, reason } = suspension;
  const waiting = { session: of, evaluationId: evaluation.id, since, message };
  switch (reason) {
    case 'APPROVAL_REQUIRED':
    case 'TOOL_OUTCOME_UNKNOWN': {
      const calls = session.pending().filter((call) => !isDecided(call));
      return Promise.all(calls.map((call) => callItem(session, call, waiting)));
    }
    case 'TIMER_PENDING':
      return []; // it continues by itself
    case 'PROVIDER_FAILED':
      return [{ kind: 'provider', ...waiting, ...suspension.failure }];
    default: {
      const { totalUsage: usage, turn: turns, raised } = evaluation;
      const { limit } = suspension;
      return [{ kind: 'limit', ...waiting, reason, ...(limit && { limit }), usage, turns, ...(raised && { raised }) }];
    }
  }
}

function sessionOf({ id, title, metadata, updatedAt, queued = 0 }: SessionInfo): InboxSession {
  const { cwd } = metadata;
  return {
    id,
    updatedAt,
    queued,
    ...(title !== undefined && { title }),
    ...(typeof cwd === 'string' && { project: cwd }),
  };
}

function failedItem(session: InboxSession, { id: evaluationId, error }: Evaluation, info: SessionInfo): FailedItem {
  const { code = 'EVALUATION_FAILED', message = 'The evaluation failed.' } = error ?? {};
  return { kind: 'failed', session, evaluationId, since: info.updatedAt, message, code };
}

/** The event that suspended an evaluation. */
async function suspensionOf(
  session: AnySession,
  { suspendedSeq }: Evaluation,
): Promise<EvaluationSuspended | undefined> {
  if (suspendedSeq === undefined) return undefined;
  for await (const event of session.events({ from: suspendedSeq })) {
    return event.type === 'evaluation/suspended' ? (event as EvaluationSuspended) : undefined;
  }
  return undefined;
}

async function callItem(session: AnySession, call: CallState, waiting: Waiting): Promise<ApprovalItem | OutcomeItem> {
  const { evaluationId, turn, callId, attempt, name, effect, approvalRequest, status } = call;
  const exact = await argumentsOf(session, call);
  const both = {
    ...waiting,
    call: { evaluationId, turn, callId, attempt },
    toolName: name,
    arguments: exact ?? call.arguments,
    isExact: exact !== undefined,
  };
  if (status === 'started') {
    const [progress, reconcile] = [await readCallProgress(session, call), await reconcileOf(session, call)];
    return {
      ...{ kind: 'outcome', ...both, attempt },
      ...(effect && { effect }),
      ...(reconcile && { reconcile }),
      ...(progress && { progress }),
    };
  }
  const { at: since = waiting.since, expiresAt, problem } = approvalRequest ?? {};
  return {
    ...{ kind: 'approval', ...both, since },
    ...(expiresAt !== undefined && { expiresAt }),
    ...(problem !== undefined && { problem }),
  };
}

/** What the suspension of its own evaluation, which may be a child's, says about a call. */
async function reconcileOf(session: AnySession, call: CallState): Promise<UnknownReconcile | undefined> {
  const evaluation = session.state.record.evaluations.get(call.evaluationId);
  const suspension = evaluation && (await suspensionOf(session, evaluation));
  const found = suspension?.unreconciled?.find((each) => callKey(each) === callKey(call));
  return found && { status: found.status, ...(found.problem !== undefined && { problem: found.problem }) };
}
