import type { Clock } from '../ports/clock.ts';

let lastMs = Number.NaN;
let lastText = '';

/** The time by a clock as text. Several events within a millisecond share the work: writing a date is dear beside the rest. */
export function isoTime(clock: Clock): string {
  const now = clock.now();
  if (now !== lastMs) {
    lastText = new Date(now).toISOString();
    lastMs = now;
  }
  return lastText;
}
