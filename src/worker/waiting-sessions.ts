import type { Store } from '../ports/store.ts';

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

/** A waiting session, with what is known about its log. */
export interface Waiting extends WaitingSession {
  /** Its position when a search found it: absent when a ring is newer. */
  readonly seq?: number;
}

/**
 * So many sessions are mixed at a time: those that have waited longest stay in front. More than all workers run at a time, or they would
 * meet all the same.
 */
const BLOCK = 1000;

/** What a person or a program may append while no process runs the session. */
const BY_OTHERS: ReadonlySet<string> = new Set(['input/queued', 'input/withdrawn', 'session/described']);

/**
 * The sessions that wait for a place in this worker, in the order in which they will be started. A worker that is alone starts the one
 * that has waited longest. Several workers find the same backlog; if all began at its front, each session would be opened by all of
 * them. So a worker that finds another one faster mixes what waits, and lets go of all but a few: most of the rest would be run by others
 * before their turn comes, which costs a look at each. It searches again when few are left.
 */
export class WaitingSessions {
  /** How many sessions wait while other workers run the same backlog. */
  readonly #room: number;
  readonly #random: () => number;
  #sessions = new Map<string, Waiting>();
  #isContested = false;
  #hasLetGo = false;

  constructor(room: number = Number.POSITIVE_INFINITY, random: () => number = Math.random) {
    this.#room = room;
    this.#random = random;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Whether sessions were let go of since the last search. */
  get hasLetGo(): boolean {
    return this.#hasLetGo;
  }

  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  /** Adds a session at the end, unless it waits already. */
  add(session: Waiting): void {
    if (!this.#sessions.has(session.id)) this.#sessions.set(session.id, session);
  }

  /** Adds what a search found. */
  addFound(found: readonly Waiting[]): void {
    this.#hasLetGo = false;
    for (const session of found) this.add(session);
    if (this.#isContested) this.#mix();
    this.#isContested = false;
  }

  /** Something was appended to a session: what a search knows about it is old. */
  rung(id: string): void {
    const session = this.#sessions.get(id);
    if (session) this.#sessions.set(id, { id, tags: session.tags });
  }

  /** Another worker was faster with a session that a search found. */
  contested(): void {
    if (this.#isContested) return;
    this.#isContested = true;
    this.#mix();
  }

  /** Removes and returns the first session for which there is a place. */
  take(load: Load, limits: Concurrency): Waiting | undefined {
    const next: Waiting | undefined = chooseNext(this.#sessions.values(), load, limits);
    if (next) this.#sessions.delete(next.id);
    return next;
  }

  #mix(): void {
    const order = mixed([...this.#sessions.values()], this.#random);
    let room = this.#room;
    // What was rung for stays: no search has found it yet.
    const kept = order.filter(({ seq }) => seq === undefined || room-- > 0);
    this.#hasLetGo ||= kept.length < order.length;
    this.#sessions = new Map(kept.map((session) => [session.id, session]));
  }

  clear(): void {
    this.#sessions.clear();
  }
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

/** The same sessions; each stays in its block. */
export function mixed<T>(sessions: readonly T[], random: () => number): T[] {
  return sessions
    .map((session, i) => ({ session, key: Math.floor(i / BLOCK) + random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ session }) => session);
}

/** Whether another process has run a session since it was found at `seq`. Costs one read, much less than opening the session. */
export async function wasTaken(store: Store, { id, seq }: Waiting): Promise<boolean> {
  if (seq === undefined) return false;
  for await (const { type } of store.read(id, { after: seq })) if (!BY_OTHERS.has(type)) return true;
  return false;
}
