/** Numbers, money and times as people read them at a glance. */

/** `950`, `12.3k`, `1.2M`. */
export function compact(value: number): string {
  if (value < 1000) return String(value);
  if (value < 999_950) return `${trimmed(value / 1000)}k`;
  return `${trimmed(value / 1_000_000)}M`;
}

function trimmed(value: number): string {
  return value < 100 ? value.toFixed(1).replace(/\.0$/, '') : value.toFixed(0);
}

/** `$0.0042`, `$1.25`. */
export function money(usd: number): string {
  return `$${usd > 0 && usd < 0.1 ? usd.toFixed(4) : usd.toFixed(2)}`;
}

/** `340 ms`, `4.2 s`, `3 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${trimmed(ms / 1000)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `now`, `5m`, `3h`, `2d`, then the date. */
export function ago(at: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(at)) / 1000);
  if (Number.isNaN(seconds)) return '';
  if (seconds < 45) return 'now';
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))}m`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)}h`;
  if (seconds < 7 * 86_400) return `${Math.round(seconds / 86_400)}d`;
  const date = new Date(at);
  const isThisYear = date.getFullYear() === new Date(now).getFullYear();
  return date.toLocaleDateString('en', { month: 'short', ...(isThisYear ? { day: 'numeric' } : { year: 'numeric' }) });
}

/** The time of day where the person is, `14:03`, or `14:03:27`; empty for a time that cannot be read. */
export function clock(at: string, isExact = false): string {
  const date = new Date(at);
  const minutes = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  const format = isExact ? ({ ...minutes, second: '2-digit' } as const) : minutes;
  return Number.isNaN(date.getTime()) ? '' : date.toLocaleTimeString('en', format);
}

/** A duration in at most 6 letters: `40 s`, `2 min`, `3 h`, `5 d`. */
export function roughly(ms: number): string {
  if (ms < 60_000) return `${Math.round(ms / 1000)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 172_800_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} d`;
}

/** `1 block`, `3 blocks`. */
export function count(value: number, one: string, many = `${one}s`): string {
  return `${value.toLocaleString('en')} ${value === 1 ? one : many}`;
}
