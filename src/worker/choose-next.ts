/** Which of the waiting sessions a worker starts next. Pure. */

/** A session that waits for a place. */
export interface WaitingSession {
  readonly id: string;
  readonly tags: readonly string[];
}

/** How many sessions may run at a time. */
export interface Concurrency {
  /** In this worker. */
  readonly worker: number;
  /** In all workers, as far as leases show it: two workers that start at the same moment may exceed it by what both start. */
  readonly total?: number;
  /** In all workers, for each tag of a session. A session with several of these tags needs a place in each. */
  readonly tags?: Readonly<Record<string, number>>;
}

/** What runs at the moment. */
export interface Load {
  readonly here: number;
  readonly elsewhere: number;
  /** The tags of all sessions that run, here and elsewhere. */
  readonly tags: ReadonlyMap<string, number>;
}

/** The first session, in waiting order, for which there is a place; a full tag does not hold up the sessions behind it. */
export function chooseNext(
  waiting: Iterable<WaitingSession>,
  load: Load,
  limits: Concurrency,
): WaitingSession | undefined {
  const { worker, total = Number.POSITIVE_INFINITY, tags = {} } = limits;
  if (load.here >= worker || load.here + load.elsewhere >= total) return undefined;
  const isFull = (tag: string): boolean => Object.hasOwn(tags, tag) && (load.tags.get(tag) ?? 0) >= (tags[tag] ?? 0);
  for (const session of waiting) if (!session.tags.some(isFull)) return session;
  return undefined;
}

/** Counts tags. */
export function countTags(sessions: Iterable<{ readonly tags: readonly string[] }>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { tags } of sessions) for (const tag of new Set(tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return counts;
}
