import type { ErrorCode } from '../errors.ts';
import type { ToolEffect } from './events.ts';
import type { CallRef, MediaPart, TextPart } from './messages.ts';

/** The fields of events that make a call, an evaluation or a whole session wait. `events.ts` adds the envelope. */

/** Why an evaluation is suspended (D13). */
export type SuspendReason = Extract<
  ErrorCode,
  | 'APPROVAL_REQUIRED'
  | 'TOOL_OUTCOME_UNKNOWN'
  | 'TIMER_PENDING'
  | 'DEADLINE_EXCEEDED'
  | 'BUDGET_EXCEEDED'
  | 'TURN_LIMIT'
  | 'CANCELLED'
  | 'PROVIDER_FAILED'
>;

/** A provider that returned no response, and the HTTP status of its last refusal, if any. */
export interface ProviderFailure {
  readonly provider: string;
  readonly status?: number;
}

/** The limits of a budget that a request to resume may raise. */
export interface RaisedBudget {
  readonly maxTokens?: number;
  readonly maxInputTokens?: number;
  readonly maxOutputTokens?: number;
  readonly maxCostUsd?: number;
}

/** A limit that an evaluation reached, by the name of its option: of a budget, or of its turns. */
export interface ReachedLimit {
  readonly name: keyof RaisedBudget | 'maxTurns';
  /** How much was allowed; absent when the agent that holds the limit does not report it. */
  readonly max?: number;
  /** How much was used, of everything that the limit counts; absent when it cannot be measured. */
  readonly used?: number;
}

/** Why the `reconcile` of a tool left the outcome of a call unknown: it threw, it could not find out, or it could not be called. */
export interface UnknownReconcile {
  readonly status: 'failed' | 'undecided' | 'not-called';
  readonly problem?: string;
}

/** A call whose outcome is unknown although its tool has a `reconcile`. */
export interface UnreconciledCall extends CallRef, UnknownReconcile {}

/** An evaluation waits: for a person, a time, a limit or its provider. */
export type EvaluationSuspendedFields = {
  readonly type: 'evaluation/suspended';
  readonly evaluationId: string;
  readonly reason: SuspendReason;
  readonly message: string;
  readonly pending: readonly CallRef[];
  /** Those of the pending calls whose outcome `reconcile` could not find out. Absent in logs from before it was recorded. */
  readonly unreconciled?: readonly UnreconciledCall[];
  /** The provider that failed, if that is the reason. */
  readonly failure?: ProviderFailure;
  /** The limit that was reached, if that is the reason. Absent in logs from before it was recorded. */
  readonly limit?: ReachedLimit;
  /** ISO time at which a runner continues the evaluation, if nothing else does before: the earliest timer. Absent: at no time (D78). */
  readonly until?: string;
};

/** The content that a deferred call's result will have. */
export interface DeferredOutcome {
  readonly content: readonly (TextPart | MediaPart)[];
  readonly isError: boolean;
}

/** The handler of a call returned `suspendUntil`: the call ends, or its handler runs again, at that time (D78). */
export type ToolDeferredFields = CallRef & {
  readonly type: 'tool/deferred';
  readonly toolName: string;
  readonly effect: ToolEffect;
  /** The run of the handler that deferred the call, from 1. */
  readonly attempt: number;
  /** ISO time. */
  readonly until: string;
  /** The result that is recorded at that time. Absent: the handler runs again. */
  readonly outcome?: DeferredOutcome;
};

/** Workers gave up on a session whose runs fail again and again: it waits for a person (D79). */
export type SessionSuspendedFields = {
  readonly type: 'session/suspended';
  readonly error: { readonly code: ErrorCode | 'INTERNAL'; readonly message: string };
  /** How many runs failed. */
  readonly attempts: number;
  /** The worker that gave up. */
  readonly by?: string;
};

/** A person or a program requests that workers run a suspended session again (D79). */
export type SessionResumedFields = {
  readonly type: 'session/resumed';
  readonly by?: string;
};
