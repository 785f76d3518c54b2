import type { SessionEvent } from '../../core/log/events.ts';
import { type SessionSummary, SUMMARY_VERSION, summarizeSession } from '../../core/summary/session-summary.ts';
import { decodeEvent } from '../encoded-event.ts';
import { incompleteEvent } from '../refusals.ts';
import type { SessionKey, SessionRow, StoredEvent, StoredSummary } from './backend.ts';

const MAX_KNOWN = 1024;
const ROWS = 256;
/** How many events a stored summary may be behind, at least: a listing folds them in. */
const MAX_BEHIND = 64;
/** A longer summary is written less often: one more event behind for so many characters. */
const CHARACTERS_FOR_AN_EVENT = 100;

/** A summary and the log that it was folded from. */
export interface Folded<Key extends SessionKey> {
  /** Absent before the first event of an incarnation. */
  readonly key: Key | undefined;
  readonly revision: number;
  /** The last event that is folded in. */
  readonly seq: number;
  readonly summary: SessionSummary | undefined;
  /** The stored summary, if it can be used: its last event, and its length. */
  readonly stored?: { readonly seq: number; readonly length: number } | undefined;
}

type KnownSession<Key extends SessionKey> = Pick<SessionRow<Key>, 'seq' | 'revision'> & { readonly key: Key };

interface Source<Key extends SessionKey> {
  events(
    key: Key,
    range: { readonly after: number; readonly until: number; readonly limit: number },
  ): Promise<readonly StoredEvent[]>;
  summary(key: Key): Promise<StoredSummary | undefined>;
}

/** A log before its first event. */
export const NOTHING_FOLDED = { key: undefined, revision: 0, seq: 0, summary: undefined } as const;

/**
 * The only fold of summaries (D82): what backends store and list. It remembers the summaries of the sessions that it folded last, so that
 * each event is folded once. The stored summary is written when something changes that a listing filters by or shows first, in the append
 * that changes it; the counts may be behind, and are folded in when they are read.
 *
 *     append ─▶ what is remembered, or stored ─▶ fold ─▶ differs? ─▶ stored with the append
 *     listing ─▶ stored: another revision or version ─▶ fold the log · behind ─▶ fold the rest
 */
export class Summaries<Key extends SessionKey> {
  readonly #source: Source<Key>;
  readonly #known = new Map<string, Folded<Key>>();

  constructor(source: Source<Key>) {
    this.#source = source;
  }

  /** What is remembered of a log that ends at `seq`. */
  at(sessionId: string, seq: number): Folded<Key> | undefined {
    const known = this.#known.get(sessionId);
    return known?.seq === seq ? known : undefined;
  }

  remember(sessionId: string, folded: Folded<Key>): void {
    this.#known.delete(sessionId);
    this.#known.set(sessionId, folded);
    if (this.#known.size <= MAX_KNOWN) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  /** Forgets a session whose log was changed other than by appending. */
  forget(sessionId: string): void {
    this.#known.delete(sessionId);
  }

  /** The summary of a log up to its end, from what is remembered or stored, and the events after it. */
  async current(
    sessionId: string,
    session: KnownSession<Key>,
    listed?: { readonly summary?: StoredSummary | undefined },
  ): Promise<Folded<Key>> {
    const known = this.#known.get(sessionId);
    const isUsable = known?.key === session.key && known.revision === session.revision && known.seq <= session.seq;
    const from = isUsable
      ? known
      : usableSummary(session, listed ? listed.summary : await this.#source.summary(session.key));
    if (from?.seq === session.seq) return from;
    const folded = await this.#foldOn(sessionId, from ?? { ...NOTHING_FOLDED, ...pick(session), seq: 0 }, session.seq);
    this.remember(sessionId, folded);
    return folded;
  }

  async #foldOn(sessionId: string, from: Folded<Key>, until: number): Promise<Folded<Key>> {
    let { seq, summary } = from;
    while (seq < until) {
      const rows = await this.#source.events(from.key as Key, { after: seq, until, limit: ROWS });
      if (rows.length === 0) break; // deleted meanwhile
      summary = foldReadable(summary, sessionId, rows);
      seq = rows.at(-1)?.seq ?? until;
    }
    return { ...from, seq: until, summary };
  }
}

function pick<Key extends SessionKey>({ key, revision }: KnownSession<Key>): Pick<Folded<Key>, 'key' | 'revision'> {
  return { key, revision };
}

/** A stored summary, unless it is of another revision or version, or cannot be read: `check` reports that. */
export function usableSummary<Key extends SessionKey>(
  { key, seq, revision }: KnownSession<Key>,
  stored: StoredSummary | undefined,
): Folded<Key> | undefined {
  if (!stored || stored.version !== SUMMARY_VERSION || stored.revision !== revision || stored.seq > seq)
    return undefined;
  try {
    const summary = JSON.parse(stored.data) as SessionSummary;
    return { key, revision, seq: stored.seq, summary, stored: { seq: stored.seq, length: stored.data.length } };
  } catch {
    return undefined;
  }
}

/** Folds stored events. One that cannot be read changes nothing: `check` reports it. */
export function foldReadable(
  before: SessionSummary | undefined,
  sessionId: string,
  rows: readonly StoredEvent[],
): SessionSummary | undefined {
  let summary = before;
  for (const { seq, at, type, data } of rows) {
    try {
      summary = summarizeSession(summary, decodeEvent(sessionId, seq, at, type, data));
    } catch {
      // It has no part in the summary.
    }
  }
  return summary;
}

/** Folds events that are about to be written. Throws `EVENT_INVALID` for one that lacks required fields. */
export function foldNew(
  before: SessionSummary | undefined,
  events: Iterable<SessionEvent>,
): SessionSummary | undefined {
  let summary = before;
  for (const event of events) {
    try {
      summary = summarizeSession(summary, event);
    } catch (cause) {
      throw incompleteEvent(event.type, cause);
    }
  }
  return summary;
}

/** The summary to store with an append; undefined when the stored one may stay. */
export function dueSummary<Key extends SessionKey>(
  { revision, summary: before, stored }: Folded<Key>,
  seq: number,
  after: SessionSummary,
): StoredSummary | undefined {
  if (stored && before && !differs(before, after)) {
    const behind = seq - stored.seq;
    if (behind < MAX_BEHIND || behind < stored.length / CHARACTERS_FOR_AN_EVENT) return undefined;
  }
  return storedSummary(after, seq, revision);
}

/** A summary as it is stored. */
export function storedSummary(summary: SessionSummary, seq: number, revision: number): StoredSummary {
  const { status, work, wakeAt } = summary;
  return { seq, revision, version: SUMMARY_VERSION, data: JSON.stringify(summary), status, work, wakeAt };
}

/** Whether something changed that a listing filters by, or that is not a count. Each change of the others is a new object. */
function differs(before: SessionSummary, after: SessionSummary): boolean {
  return (
    before.status !== after.status ||
    before.work !== after.work ||
    before.wakeAt !== after.wakeAt ||
    before.title !== after.title ||
    before.tags !== after.tags ||
    before.metadata !== after.metadata ||
    before.suspended !== after.suspended ||
    before.forkedFrom !== after.forkedFrom ||
    before.source?.architecture !== after.source?.architecture ||
    before.source?.title !== after.source?.title
  );
}
