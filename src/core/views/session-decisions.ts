import type { RaisedLimits } from '../fold/evaluations.ts';
import type { Settlement } from '../log/events.ts';
import type { CallRef } from '../log/messages.ts';

/** Who decides: what every decision records. */
export interface DecisionOptions {
  /** The person or program that decides. */
  readonly by?: string;
}

/** What is recorded with an approval. */
export interface ApproveOptions extends DecisionOptions {
  readonly note?: string;
  /**
   * The tool runs with these instead of the model's arguments. They are validated when it runs. In a session with `redact`, and for
   * a call whose arguments were redacted, they are stored outside the log: the event has only `edited: true`.
   */
  readonly arguments?: unknown;
}

/** What is recorded with a denial. */
export interface DenyOptions extends DecisionOptions {
  /** The model receives it. */
  readonly reason?: string;
}

/** Which evaluation is cancelled, and what is recorded with the request. */
export interface CancelOptions extends DecisionOptions {
  /** The newest open evaluation of the main conversation unless given. */
  readonly evaluationId?: string;
  readonly reason?: string;
}

/** Which evaluation is resumed, and with which limits. */
export interface ResumeOptions extends DecisionOptions {
  /** The newest of the main conversation unless given. */
  readonly evaluationId?: string;
  /** Limits that replace the options of the process that runs it, for the rest of the evaluation. */
  readonly raise?: RaisedLimits;
}

/** Which evaluation is abandoned, and what is recorded with it. */
export interface AbandonOptions extends DecisionOptions {
  /** The newest of the main conversation unless given. */
  readonly evaluationId?: string;
  readonly reason?: string;
}

/** What `stop` has stopped. */
export interface Stopped {
  /** Whether an evaluation was open, and is cancelled. */
  readonly cancelled: boolean;
  /** The ids of the inputs that were withdrawn. */
  readonly withdrawn: readonly string[];
}

/**
 * What people decide about a session, from any process and without a lease. Each resolves when it is in the log; the process that runs
 * the session obeys. The first decision about a call counts: a later one is `CALL_DECIDED`.
 */
export interface SessionDecisions {
  /** Lets a call that waits for approval run, with other arguments if some are given. */
  approve(call: CallRef, options?: ApproveOptions): Promise<void>;
  /** Denies a call that was not started; the model receives the reason. */
  deny(call: CallRef, options?: DenyOptions): Promise<void>;
  /** Settles a call whose outcome is unknown: gives its result, or allows it to run again. */
  settle(call: CallRef, how: Settlement, options?: DecisionOptions): Promise<void>;
  /** Stops an evaluation, which suspends with `CANCELLED` and can be resumed. */
  cancel(options?: CancelOptions): Promise<void>;
  /** The stop button of a chat: withdraws the inputs that are queued and cancels the evaluation that is open, if any. */
  stop(options?: DecisionOptions): Promise<Stopped>;
  /** Continues a suspended evaluation, with higher limits if some are given, or a session that workers gave up on. */
  resume(options?: ResumeOptions): Promise<void>;
  /** Gives up an evaluation that is suspended or has failed, so that the next input is placed. */
  abandon(options?: AbandonOptions): Promise<void>;
}
