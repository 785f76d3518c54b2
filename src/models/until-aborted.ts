/**
 * Who waits for what, by the signal that may end it: one listener a signal, however often it is waited under. Listening and
 * leaving again costs more than most of what the loop does between two commits.
 */
const waiting = new WeakMap<AbortSignal, Set<(reason: unknown) => void>>();

/** The promise's value, or a throw of the signal's reason as soon as it aborts, whatever the promise does. */
export function untilAborted<T>(promise: PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return Promise.resolve(promise);
  return new Promise<T>((resolve, reject) => {
    if (signal.aborted) {
      promise.then(undefined, () => {}); // its result is no longer used
      reject(signal.reason);
      return;
    }
    const waiters = waitersOn(signal);
    waiters.add(reject);
    promise.then(
      (value) => {
        waiters.delete(reject);
        resolve(value);
      },
      (error: unknown) => {
        waiters.delete(reject);
        reject(error);
      },
    );
  });
}

function waitersOn(signal: AbortSignal): Set<(reason: unknown) => void> {
  const known = waiting.get(signal);
  if (known) return known;
  const waiters = new Set<(reason: unknown) => void>();
  waiting.set(signal, waiters);
  const abort = (): void => {
    for (const reject of waiters) reject(signal.reason);
  };
  signal.addEventListener('abort', abort, { once: true });
  return waiters;
}
