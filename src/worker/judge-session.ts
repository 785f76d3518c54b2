import type { SessionSummary } from '../core/summary/session-summary.ts';

/**
 * What a worker can do in a listed session. Pure.
 *
 *     held      another process runs it, and does whatever is left
 *     run       it has work: an input, a decision, a request, a timer that is due, or an evaluation whose holder died
 *     sleeping  it has work later
 *     idle      it has none
 */
export type Verdict = 'held' | 'run' | 'sleeping' | 'idle';

export function judgeSession(
  { work, wakeAt }: Pick<SessionSummary, 'work' | 'wakeAt'>,
  { now, isHeld }: { readonly now: number; readonly isHeld: boolean },
): Verdict {
  if (work === undefined && wakeAt === undefined) return 'idle';
  if (isHeld) return 'held';
  return work !== undefined || isDue(wakeAt, now) ? 'run' : 'sleeping';
}

function isDue(wakeAt: string | undefined, now: number): boolean {
  return wakeAt !== undefined && Date.parse(wakeAt) <= now;
}
