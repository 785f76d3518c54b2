import { HoldfastError } from '../../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';

/** What a call that waits for a time gets then. */
export interface SuspendUntilOptions {
  /** The result of the call at that time. Without one the handler runs again. */
  readonly result?: unknown;
}

const KNOWN: KnownOptions<SuspendUntilOptions> = { result: true };

/** Returned by a handler to let its call wait for a time; made by `suspendUntil`. */
export class SuspendedCall {
  /** Milliseconds since the epoch. */
  readonly until: number;
  readonly hasResult: boolean;
  readonly result: unknown;

  constructor(until: number, options: SuspendUntilOptions) {
    this.until = until;
    this.hasResult = 'result' in options;
    this.result = options.result;
  }
}

/** The latest time that a date can hold. */
const MAX_TIME = 8.64e15;

/**
 * Lets a tool wait without a process: return it from a handler, and the evaluation is suspended until that time, also across restarts
 *. Then the handler runs again with the next `ctx.attempt` or, if `result` is given, the call gets that result. Timers are in
 * the log; a worker fires them, and so does any later `run`.
 *
 * A handler that is to run again declares `effect: 'read'` or `'idempotent'`; a `once` handler gives a `result`. A time that has
 * passed counts as one second from now.
 */
export function suspendUntil(date: Date | number, options: SuspendUntilOptions = {}): SuspendedCall {
  refuseUnknownOptions('suspendUntil', options, KNOWN);
  const until = Number(date);
  if (!Number.isFinite(until) || Math.abs(until) > MAX_TIME) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `suspendUntil takes a date or milliseconds since the epoch, not ${String(date)}`,
    );
  }
  return new SuspendedCall(until, options);
}
