import type { SessionEvent } from '../../../core/log/events.ts';
import type { SearchHit } from '../../../ports/store.ts';
import { decodeEvent } from '../../encoded-event.ts';
import { matchTexts, SEARCH_VERSION, type SearchTerm, searchableTexts, wordsOf } from '../../search-text.ts';
import type { Database, Statement, ValueStatement } from '../driver.ts';
import type { ContentTable } from '../rows/content-table.ts';
import { type EventTable, RECENT, type RemainingRow } from '../rows/event-table.ts';

/**
 * The full-text index. It is filled outside the append's transaction and remembers in `sessions.indexed_seq` how far it has
 * come, so nothing is lost when a process ends in between. It holds words only, no text: a hit's text is read from the log,
 * which keeps the index small, and every hit is checked against what the log says now.
 */

const READ_AT_ONCE = 64;
/** Work in one transaction ends after this long: appends wait for it. */
const SLICE_MS = 8;
const ALL_KEYS = 0x7fff_ffff;

interface Lagging {
  readonly key: number;
  readonly id: string;
  readonly seq: number;
  readonly indexed_seq: number;
}

interface Found {
  readonly key: number;
  readonly seq: number;
  readonly id: string;
}

/** A hit and the key of its session. */
interface PlacedHit {
  readonly key: number;
  readonly hit: SearchHit;
}

export class SearchIndex {
  readonly #database: Database;
  readonly #log: EventTable;
  readonly #contents: ContentTable;
  readonly #lagging: Statement<[number, string | null, string | null], Lagging>;
  readonly #indexedSeq: ValueStatement<[number], number>;
  readonly #progress: Statement<[number, number]>;
  readonly #add: Statement<[number, number, string]>;
  readonly #remove: Statement<[number, number, string]>;
  readonly #find: Statement<[string, number, number, number, number], Found>;
  readonly #version: ValueStatement<[], number>;

  constructor(database: Database, events: EventTable, contents: ContentTable) {
    this.#database = database;
    this.#log = events;
    this.#contents = contents;
    this.#lagging = database.prepare(
      `SELECT * FROM (SELECT key, id, coalesce(recent.seq, sessions.seq) AS seq, indexed_seq
         FROM sessions LEFT JOIN ${RECENT} AS recent USING (key) WHERE building_until IS NULL)
       WHERE (indexed_seq < seq OR ?) AND (? IS NULL OR id = ?)`,
    );
    this.#indexedSeq = database.prepareValue('SELECT indexed_seq FROM sessions WHERE key = ?');
    this.#progress = database.prepare('UPDATE sessions SET indexed_seq = ? WHERE key = ?');
    this.#add = database.prepare('INSERT INTO search (rowid, words) VALUES ((? << 32) | ?, ?)');
    // The index keeps no text, so removing an entry takes its words.
    this.#remove = database.prepare("INSERT INTO search (search, rowid, words) VALUES ('delete', (? << 32) | ?, ?)");
    this.#find = database.prepare(
      `SELECT search.rowid >> 32 AS key, search.rowid & 0xffffffff AS seq, sessions.id AS id
       FROM search CROSS JOIN sessions ON sessions.key = search.rowid >> 32
       WHERE search MATCH ? AND search.rowid > (? << 32) AND search.rowid < ((? << 32) | ?)
       ORDER BY search.rowid DESC LIMIT ?`,
    );
    this.#version = database.prepareValue("SELECT value FROM counters WHERE name = 'search version'");
  }

  /** Whether every event of the session, or of all sessions, is in the index. */
  isComplete(sessionId: string | undefined): boolean {
    return !this.#isOutdated() && this.#lagging.get(0, sessionId ?? null, sessionId ?? null) === undefined;
  }

  /** Indexes for a moment, in a transaction of its own; true when nothing is left to do. */
  advance(): boolean {
    this.#renewIfOutdated();
    const end = performance.now() + SLICE_MS;
    for (const session of this.#lagging.all(0, null, null)) {
      let done = session.seq;
      for (const { seq, event } of this.#events(session.key, session.id, session.indexed_seq, session.seq)) {
        const words = this.#wordsIn(session.key, event);
        if (words !== undefined) this.#add.run(session.key, seq, words);
        if (performance.now() > end && seq < session.seq) {
          done = seq;
          break;
        }
      }
      this.#progress.run(done, session.key);
      if (performance.now() > end) return false;
    }
    return true;
  }

  /** In the transaction that replaces an event, before it does: forgets what the event said, learns what it will say. */
  replace(key: number, sessionId: string, event: SessionEvent): void {
    this.#renewIfOutdated();
    const { seq } = event;
    if (seq > (this.#indexedSeq.get(key) ?? 0)) return;
    const [before] = this.#events(key, sessionId, seq - 1, seq);
    const old = this.#wordsIn(key, before?.event);
    const words = this.#wordsIn(key, event);
    if (old !== undefined) this.#remove.run(key, seq, old);
    if (words !== undefined) this.#add.run(key, seq, words);
  }

  /** In the transaction that removes an event of a deleted session, before it is gone. Its words were indexed or not. */
  forget(key: number, sessionId: string, [, seq, at, type, data]: RemainingRow, indexedSeq: number): void {
    if (seq > indexedSeq || this.#isOutdated()) return;
    const words = this.#wordsIn(key, decoded(sessionId, seq, at, type, data));
    if (words !== undefined) this.#remove.run(key, seq, words);
  }

  indexedSeq(key: number): number {
    return this.#indexedSeq.get(key) ?? 0;
  }

  /**
   * The newest hits: of the session that began last first, and in it from its end. That is the order of the index, so a search reads
   * as many entries as it returns, however many there are. `session` confines it to one session.
   */
  find(
    terms: readonly SearchTerm[],
    session: { readonly id: string; readonly key: number } | undefined,
    limit: number,
  ): readonly SearchHit[] {
    const indexed = this.#findIndexed(terms, session?.key, limit);
    if (this.isComplete(session?.id)) return indexed.map(({ hit }) => hit);
    return [...this.#findUnindexed(terms, session?.id), ...indexed]
      .sort((a, b) => b.key - a.key || b.hit.seq - a.hit.seq)
      .slice(0, limit)
      .map(({ hit }) => hit);
  }

  #findIndexed(terms: readonly SearchTerm[], session: number | undefined, limit: number): readonly PlacedHit[] {
    if (this.#isOutdated()) return [];
    const query = terms.map(({ words, prefix }) => `"${words.join(' ')}"${prefix ? '*' : ''}`).join(' ');
    const hits: PlacedHit[] = [];
    let end = { key: session === undefined ? ALL_KEYS : session + 1, seq: 0 };
    // An event of many records may match as a whole without a record that does: then more events are looked at.
    while (hits.length < limit) {
      const found = this.#find.all(query, session ?? 0, end.key, end.seq, limit);
      for (const { key, seq, id } of found) {
        const [logged] = this.#events(key, id, seq - 1, seq);
        hits.push(...this.#hitsIn(key, id, logged?.event, terms));
      }
      const last = found.at(-1);
      if (last === undefined || found.length < limit) break;
      end = last;
    }
    return hits.slice(0, limit);
  }

  /** What the index does not hold yet, found by reading it: for when the index cannot be written. */
  #findUnindexed(terms: readonly SearchTerm[], sessionId: string | undefined): readonly PlacedHit[] {
    const outdated = this.#isOutdated();
    const hits: PlacedHit[] = [];
    for (const { key, id, seq, indexed_seq } of this.#lagging.all(
      outdated ? 1 : 0,
      sessionId ?? null,
      sessionId ?? null,
    )) {
      for (const { event } of this.#events(key, id, outdated ? 0 : indexed_seq, seq)) {
        hits.push(...this.#hitsIn(key, id, event, terms));
      }
    }
    return hits;
  }

  /** Events of a session in order. One that cannot be read has no words; `check` reports it. */
  *#events(
    key: number,
    sessionId: string,
    after: number,
    until: number,
  ): Generator<{ readonly seq: number; readonly event: SessionEvent | undefined }> {
    for (let done = after; done < until; ) {
      const rows = this.#log.read(key, done, until, READ_AT_ONCE);
      if (rows.length === 0) return;
      for (const [seq, at, type, data] of rows) {
        yield { seq, event: decoded(sessionId, seq, at, type, data) };
        done = seq;
      }
    }
  }

  #wordsIn(key: number, event: SessionEvent | undefined): string | undefined {
    const texts = event ? searchableTexts(event, this.#contentOf(key)) : [];
    return texts.length === 0 ? undefined : texts.map(({ text }) => wordsOf(text).join(' ')).join(' ');
  }

  #hitsIn(
    key: number,
    sessionId: string,
    event: SessionEvent | undefined,
    terms: readonly SearchTerm[],
  ): readonly PlacedHit[] {
    if (!event) return [];
    const { seq, at } = event;
    const found = matchTexts(searchableTexts(event, this.#contentOf(key)), terms);
    return found.map((hit) => ({ key, hit: { sessionId, seq, at, ...hit } }));
  }

  #contentOf(key: number): (name: string) => string | undefined {
    return (name) => this.#contents.readReferred(key, name);
  }

  #isOutdated(): boolean {
    return this.#version.get() !== SEARCH_VERSION;
  }

  /** Another version of Holdfast cut words differently: its index can neither be searched nor corrected. */
  #renewIfOutdated(): void {
    if (!this.#isOutdated()) return;
    this.#command('delete-all');
    this.#database.exec(
      'UPDATE sessions SET indexed_seq = 0 WHERE indexed_seq > 0; UPDATE doomed SET indexed_seq = 0 WHERE indexed_seq > 0',
    );
    this.#database.prepare<[number]>("UPDATE counters SET value = ? WHERE name = 'search version'").run(SEARCH_VERSION);
  }

  #command(name: 'delete-all', value = 0): void {
    // Cast, because numbers are bound as doubles, and FTS5 wants an integer.
    this.#database
      .prepare<[string, number]>('INSERT INTO search (search, rank) VALUES (?, cast(? AS INTEGER))')
      .run(name, value);
  }
}

/** An event, or undefined when it cannot be read: `check` reports it. */
function decoded(sessionId: string, seq: number, at: string, type: string, data: string): SessionEvent | undefined {
  try {
    return decodeEvent(sessionId, seq, at, type, data);
  } catch {
    return undefined;
  }
}
