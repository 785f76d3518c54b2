import type { SessionSummary } from '../core/summary/session-summary.ts';
import type { Clock } from '../ports/clock.ts';
import type { Lease, SessionInfo, Store } from '../ports/store.ts';
import { isDead } from '../session/process-identity.ts';

const PAGE = 100;
/** How many pages one search reads; the next one continues there. A long backlog costs no search more than this. */
const MAX_PAGES = 10;

/** A session that another process runs. */
export interface SessionElsewhere {
  readonly sessionId: string;
  readonly tags: readonly string[];
  readonly lease: Lease;
}

/** What a search found. */
export interface Found {
  readonly ready: readonly SessionInfo[];
  readonly elsewhere: readonly SessionElsewhere[];
  /** Whether the search has read to the end: then nothing else has work. */
  readonly isComplete: boolean;
}

/** Finds sessions that have work. Costs the sessions with work, whatever else is in the store. */
export class WorkSearch {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #isWhole: boolean;
  #cursor: string | undefined;

  /** `isWhole`: every search reads all pages, because what runs elsewhere must be counted. */
  constructor(store: Store, clock: Clock, { isWhole = false }: { readonly isWhole?: boolean } = {}) {
    this.#store = store;
    this.#clock = clock;
    this.#isWhole = isWhole;
  }

  /** `isOwn`: sessions that this worker runs. `takesHeld`: also those with a live lease; `run` finds out whether they are busy. */
  async next(
    isOwn: (sessionId: string) => boolean,
    { takesHeld = false }: { readonly takesHeld?: boolean } = {},
  ): Promise<Found> {
    const ready: SessionInfo[] = [];
    const elsewhere: SessionElsewhere[] = [];
    const now = this.#clock.now();
    const dueBy = new Date(now).toISOString();
    for (let pages = 0; this.#isWhole || pages < MAX_PAGES; pages++) {
      const cursor = this.#cursor === undefined ? {} : { cursor: this.#cursor };
      const { sessions, next } = await this.#store.listSessions({ work: true, dueBy, limit: PAGE, ...cursor });
      for (const session of sessions) {
        if (isOwn(session.id)) continue;
        const { lease } = session;
        const isHeld = isLive(lease, now);
        const verdict = judgeSession(session, { now, isHeld: isHeld && !takesHeld });
        if (lease && isHeld) elsewhere.push({ sessionId: session.id, tags: session.tags, lease });
        if (verdict === 'run') ready.push(session);
      }
      this.#cursor = next;
      if (next === undefined) return { ready, elsewhere, isComplete: true };
    }
    return { ready, elsewhere, isComplete: false };
  }
}

/** Whether a process holds the lease, as far as this one can know. */
export function isLive(lease: Lease | undefined, now: number): boolean {
  return lease !== undefined && lease.expiresAt > now && !isDead(lease.holder);
}

/**
 * What a worker can do in a listed session. Pure.
 *
 *     held      another process runs it, and does whatever is left
 *     run       it has work: an input, a decision, a request, a timer that is due, or an evaluation whose holder died
 *     sleeping  it has work later
 *     idle      it has none
 */
type Verdict = 'held' | 'run' | 'sleeping' | 'idle';

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
