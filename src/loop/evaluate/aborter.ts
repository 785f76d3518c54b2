import type { Clock } from '../../ports/clock.ts';
import { Suspension } from './suspension.ts';

/** Aborts an evaluation from outside: one signal for every reason, so that whatever waits has one thing to listen to. */
export interface Aborter {
  /** Aborts on deadline, cancellation and loss of the lease; its reason is a `Suspension` or the conflict. */
  readonly signal: AbortSignal;
  /** Throws when the evaluation must stop now. */
  check(): void;
  /** Stops the evaluation for good: everything that runs ends with this reason, and no tool can report it as its own failure. */
  abort(reason: unknown): void;
  dispose(): void;
}

/** The same aborter for work that may have to end sooner. */
export function narrowed(aborter: Aborter, signal: AbortSignal): Aborter {
  return { ...aborter, signal, check: () => signal.throwIfAborted() };
}

/** An aborter that watches the deadline, the caller's signal and the lease. */
export function createAborter(options: {
  readonly clock: Clock;
  readonly deadline?: Date | number | undefined;
  readonly signals: readonly AbortSignal[];
  readonly cancel?: AbortSignal | undefined;
}): Aborter {
  const { clock, cancel } = options;
  const controller = new AbortController();
  const stops: (() => void)[] = [];
  const abort = (reason: unknown): void => controller.abort(reason);

  if (options.deadline !== undefined) {
    const deadline = Number(options.deadline);
    const expire = (): void =>
      abort(new Suspension('DEADLINE_EXCEEDED', 'the deadline has passed; resume with a later one'));
    // Timers fire early and at most 24 days ahead: look at the clock again when one does.
    const arm = (): void => {
      const left = deadline - clock.now();
      if (left <= 0) expire();
      else stops.push(clock.after(left, arm, { background: true }));
    };
    arm();
  }
  if (cancel)
    listen(cancel, () =>
      abort(new Suspension('CANCELLED', 'it was cancelled; resume it to continue', { cause: cancel.reason })),
    );
  for (const signal of options.signals) listen(signal, () => abort(signal.reason));

  function listen(signal: AbortSignal, react: () => void): void {
    if (signal.aborted) react();
    else {
      signal.addEventListener('abort', react, { once: true });
      stops.push(() => signal.removeEventListener('abort', react));
    }
  }

  return {
    signal: controller.signal,
    check: () => controller.signal.throwIfAborted(),
    abort,
    dispose: () => {
      for (const stop of stops) stop();
    },
  };
}
