import type { Clock } from '../ports/clock.ts';

/** The host's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  after(ms, callback, { background = false } = {}) {
    const timer = setTimeout(callback, Math.min(ms, 2 ** 31 - 1));
    if (background) timer.unref();
    return () => clearTimeout(timer);
  },
};
