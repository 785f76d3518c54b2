import type { SuspendReason } from '../core/events.ts';
import type { CallRef } from '../core/messages.ts';

/** Thrown inside the loop to suspend the evaluation, so that a later call resumes it (D13). Never leaves the loop. */
export class Suspension extends Error {
  readonly reason: SuspendReason;
  /**
   * The calls that wait for a person, when calls suspended the evaluation; empty when a child conversation did for a reason of its own.
   * Undefined for every other reason.
   */
  readonly pending: readonly CallRef[] | undefined;

  constructor(
    reason: SuspendReason,
    message: string,
    options: { readonly pending?: readonly CallRef[]; readonly cause?: unknown } = {},
  ) {
    super(message, options);
    this.reason = reason;
    this.pending = options.pending;
  }
}
