import type { ReachedLimit, SuspendReason, UnreconciledCall } from '../../core/log/events.ts';
import type { CallRef } from '../../core/log/messages.ts';

/** Thrown inside the loop to suspend the evaluation, so that a later call resumes it. Never leaves the loop. */
export class Suspension extends Error {
  readonly reason: SuspendReason;
  /**
   * The calls that wait for a person, when calls suspended the evaluation; empty when a child conversation did for a reason of its own.
   * Undefined for every other reason.
   */
  readonly pending: readonly CallRef[] | undefined;
  /** ISO time at which the evaluation continues by itself. */
  readonly until: string | undefined;
  /** Calls that wait for a time: a person may settle them meanwhile. */
  readonly timed: readonly CallRef[];
  /** The limit that was reached, if that is the reason. */
  readonly limit: ReachedLimit | undefined;
  /** Of the pending calls, those whose outcome `reconcile` could not find out. */
  readonly unreconciled: readonly UnreconciledCall[];

  constructor(
    reason: SuspendReason,
    message: string,
    options: {
      readonly pending?: readonly CallRef[];
      readonly timed?: readonly CallRef[];
      readonly until?: string | undefined;
      readonly limit?: ReachedLimit | undefined;
      readonly unreconciled?: readonly UnreconciledCall[];
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options);
    this.reason = reason;
    this.pending = options.pending;
    this.until = options.until;
    this.timed = options.timed ?? [];
    this.limit = options.limit;
    this.unreconciled = options.unreconciled ?? [];
  }
}
