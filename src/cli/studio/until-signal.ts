import { constants } from 'node:os';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Waits for a signal that ends the program. */
export interface SignalWait {
  /** The first signal. A second one ends the program at once. */
  readonly signal: Promise<NodeJS.Signals>;
  /** Aborts with the first signal. */
  readonly aborted: AbortSignal;
  /** Stops to listen. */
  release(): void;
}

export function waitForSignal(): SignalWait {
  const abort = new AbortController();
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  const release = (): void => {
    for (const each of SIGNALS) process.off(each, listener);
  };
  const listener = (signal: NodeJS.Signals): void => {
    if (abort.signal.aborted) {
      release();
      process.kill(process.pid, signal);
    }
    abort.abort();
    resolve(signal);
  };
  for (const each of SIGNALS) process.on(each, listener);
  return { signal: promise, aborted: abort.signal, release };
}

/** Ends this process by a signal, as its caller expects; the exit code is for systems without signals. */
export function endBy(signal: NodeJS.Signals): number {
  process.kill(process.pid, signal);
  return 128 + constants.signals[signal];
}
