import { untilAborted } from '../../models/until-aborted.ts';
import type { Clock } from '../../ports/clock.ts';

/** Waits. When the signal aborts first, throws its reason and leaves no timer that would keep the process alive. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  let cancel: () => void = () => {};
  const passed = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
  });
  try {
    await untilAborted(passed, signal);
  } finally {
    cancel();
  }
}
