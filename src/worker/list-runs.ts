import type { LeaseHolder, SessionInfo, Store } from '../ports/store.ts';
import { isLive, judgeSession } from './work-search.ts';

/** What all workers of a store do, by its leases and summaries. */
export interface StoreRuns {
  /** Sessions with a lease, whichever process holds it. */
  readonly runs: readonly RunElsewhere[];
  /** How many sessions have work that no process is doing. */
  readonly backlog: number;
  /** How many sessions have a wake-up later. */
  readonly sleeping: number;
  /** Sessions that workers gave up on: `session.resume` lets them run again. */
  readonly suspended: readonly {
    readonly sessionId: string;
    readonly attempts: number;
    readonly at: string;
    readonly error: { readonly code: string; readonly message: string };
  }[];
  /** False if there are more sessions than were looked at. */
  readonly isComplete: boolean;
}

/** A session that a process runs, or ran until it died. */
export interface RunElsewhere {
  readonly sessionId: string;
  readonly holder: LeaseHolder;
  readonly fence: number;
  readonly expiresAt: string;
  /** Whether the lease still holds. */
  readonly isLive: boolean;
}

/** Lists what the workers of a store do: from any process, and without asking them. */
export async function listRuns(
  store: Store,
  { limit = 1000, now = Date.now() }: { readonly limit?: number; readonly now?: number } = {},
): Promise<StoreRuns> {
  const withWork = await store.listSessions({ work: true, limit });
  const waiting = await store.listSessions({ status: 'suspended', limit });
  const runs = withWork.sessions.flatMap((session) => runOf(session, now));
  const live = new Set(runs.filter(({ isLive }) => isLive).map(({ sessionId }) => sessionId));
  const verdicts = withWork.sessions.map((session) => judgeSession(session, { now, isHeld: live.has(session.id) }));
  return {
    runs,
    backlog: verdicts.filter((verdict) => verdict === 'run').length,
    sleeping: verdicts.filter((verdict) => verdict === 'sleeping').length,
    suspended: waiting.sessions.flatMap(({ id: sessionId, suspended }) => {
      if (!suspended) return [];
      const { attempts, at, error } = suspended;
      return [{ sessionId, attempts, at, error }];
    }),
    isComplete: withWork.next === undefined && waiting.next === undefined,
  };
}

function runOf({ id: sessionId, lease }: SessionInfo, now: number): readonly RunElsewhere[] {
  if (!lease) return [];
  const { holder, fence, expiresAt } = lease;
  return [{ sessionId, holder, fence, expiresAt: new Date(expiresAt).toISOString(), isLive: isLive(lease, now) }];
}
