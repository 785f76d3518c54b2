import { isBusy, storeError } from './sqlite-errors.ts';

/**
 * Waiting for a lock without holding up the process. SQLite's own wait blocks the thread, and with it every stream and
 * heartbeat of this process; so it waits only a moment, and longer waits happen between attempts.
 */

/** How long SQLite itself may block: enough for another process's ordinary commit. */
export const BLOCKING_WAIT_MS = 10;
const PAUSE_MS = 15;
/** The longest that a writer waits between two attempts to get the lock. */
export const LONGEST_PAUSE_MS: number = PAUSE_MS * 1.5;

/** When an attempt that begins now should be given up. */
export function busyDeadline(busyTimeoutMs: number): number {
  return performance.now() + busyTimeoutMs;
}

/** Whether to try again after this error. */
export function mayRetry(error: unknown, deadline: number): boolean {
  return isBusy(error) && performance.now() < deadline;
}

/** A pause between two attempts, of random length so that processes do not keep step. Keeps the process alive: a writer waits. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS * (0.5 + Math.random())));
}

/** Runs `work`, again while the database is locked and there is time; every failure has a code of ours. */
export async function untilFree<T>(path: string, busyTimeoutMs: number, work: () => T): Promise<T> {
  let deadline: number | undefined;
  for (;;) {
    try {
      return work();
    } catch (error) {
      deadline ??= busyDeadline(busyTimeoutMs);
      if (!mayRetry(error, deadline)) throw storeError(error, path);
    }
    await pause();
  }
}
