import type { Clock } from '../ports/clock.ts';

let lastMs = Number.NaN;
let lastText = '';
let second = Number.NaN;
/** The text of that second, up to its milliseconds. */
let upToMs = '';

/** The time by a clock as text. What one millisecond, or one second, has in common is written once: a date is dear to write. */
export function isoTime(clock: Clock): string {
  const now = clock.now();
  if (now === lastMs) return lastText;
  const ms = now % 1000;
  if (now - ms !== second) {
    second = now - ms;
    upToMs = new Date(now).toISOString().slice(0, -4);
  }
  lastMs = now;
  lastText = ms >= 0 && Number.isInteger(ms) ? `${upToMs}${String(ms).padStart(3, '0')}Z` : new Date(now).toISOString();
  return lastText;
}
