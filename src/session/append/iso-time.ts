import type { Clock } from '../../ports/clock.ts';

let lastMs = Number.NaN;
let lastText = '';
let second = Number.NaN;
/** The text of that second, up to its milliseconds. */
let upToMs = '';

/** The time by a clock as text. What one millisecond, or one second, has in common is written once: formatting a date is slow. */
export function isoTime(clock: Clock): string {
  const now = Math.trunc(clock.now());
  if (now === lastMs) return lastText;
  const start = Math.floor(now / 1000) * 1000;
  if (start !== second) {
    upToMs = new Date(now).toISOString().slice(0, -4);
    second = start;
  }
  lastMs = now;
  lastText = `${upToMs}${String(now - start).padStart(3, '0')}Z`;
  return lastText;
}
