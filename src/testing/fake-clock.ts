import type { Clock } from '../ports/clock.ts';

/** A clock that only moves when `advance` is called. */
export interface FakeClock extends Clock {
  /** Moves the clock by `ms` and runs the due timers in order, each at its own time. */
  advance(ms: number): void;
  /** The number of pending timers. */
  readonly waiting: number;
}

interface Timer {
  readonly due: number;
  readonly order: number;
  readonly callback: () => void;
}

/** Creates a clock at `start`, by default 2026-01-01T00:00:00Z. */
export function fakeClock(start: number = Date.UTC(2026, 0, 1)): FakeClock {
  let now = start;
  let order = 0;
  const timers = new Set<Timer>();

  function nextDue(until: number): Timer | undefined {
    return [...timers]
      .filter((timer) => timer.due <= until)
      .sort((a, b) => a.due - b.due || a.order - b.order)
      .at(0);
  }

  return {
    now: () => now,
    after(ms, callback) {
      const timer: Timer = { due: now + Math.max(0, ms), order: order++, callback };
      timers.add(timer);
      return () => {
        timers.delete(timer);
      };
    },
    advance(ms) {
      const until = now + ms;
      // A callback may set a timer that is due within the same step.
      for (let timer = nextDue(until); timer; timer = nextDue(until)) {
        timers.delete(timer);
        now = timer.due;
        timer.callback();
      }
      now = until;
    },
    get waiting() {
      return timers.size;
    },
  };
}
