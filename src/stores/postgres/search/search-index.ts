import type { SessionEvent } from '../../../core/log/events.ts';
import type { SearchHit } from '../../../ports/store.ts';
import { decodeEvent } from '../../encoded-event.ts';
import { matchTexts, type SearchTerm, searchableTexts, wordsOf } from '../../search-text.ts';
import type { StoredEvent } from '../../shell/backend.ts';
import type { PostgresDatabase, Sql, Statement } from '../connection/database.ts';
import type { ContentRows } from '../rows/content-rows.ts';
import type { SessionRows } from '../rows/session-rows.ts';

/** How many events one transaction indexes. */
const SLICE_EVENTS = 500;
/** PostgreSQL holds at most a megabyte of words for one event; an event with more is read by every search. */
const MAX_WORDS_LENGTH = 500_000;

interface Lagging {
  readonly key: string;
  readonly id: string;
  readonly seq: number;
  readonly indexed_seq: number;
  readonly revision: number;
}

interface Found extends StoredEvent {
  readonly key: string;
  readonly id: string;
}

/**
 * The full-text index: the distinct words of each event. It is filled outside the appends, and `sessions.indexed_seq` says how far it
 * has come. PostgreSQL finds the events that have all words of a query; whether and where a text matches is then decided by the same
 * rules as in every store.
 */
export class SearchIndex {
  readonly #database: PostgresDatabase;
  readonly #contents: ContentRows;
  readonly #sessions: SessionRows;
  readonly #lagging: Statement;
  readonly #add: Statement;
  readonly #progress: Statement;

  constructor(database: PostgresDatabase, sessionRows: SessionRows, contents: ContentRows) {
    this.#database = database;
    this.#contents = contents;
    this.#sessions = sessionRows;
    const sessions = database.table('sessions');
    this.#lagging = {
      name: 'lagging',
      text: `SELECT key::text AS key, id, seq, indexed_seq, revision FROM ${sessions}
             WHERE unindexed AND building_until IS NULL AND ($1::text IS NULL OR id = $1) ORDER BY key LIMIT 1000`,
    };
    this.#add = {
      name: 'add-words',
      text: `INSERT INTO ${database.table('search')} (key, seq, words)
             SELECT $1, seq, CASE WHEN words IS NULL THEN NULL ELSE array_to_tsvector(string_to_array(words, ' ')) END
             FROM unnest($2::int[], $3::text[]) AS w (seq, words)
             ON CONFLICT (key, seq) DO UPDATE SET words = excluded.words`,
    };
    // An event that was replaced meanwhile has another revision: its old words must not be stored.
    this.#progress = {
      name: 'indexed',
      text: `UPDATE ${sessions} SET indexed_seq = greatest(indexed_seq, $2), unindexed = seq > greatest(indexed_seq, $2)
             WHERE key = $1 AND revision = $3 RETURNING 1 AS done`,
    };
  }

  /** Indexes what was committed before the call, of one session or of all. */
  async catchUp(sessionId: string | undefined): Promise<void> {
    for (;;) {
      const lagging = await this.#database.query<Lagging>(this.#lagging, [sessionId ?? null]);
      for (const session of lagging) await this.#catchUpWith(session);
      if (lagging.length < 1000) return;
    }
  }

  /** Indexes for a moment; true when nothing is left to do. */
  async advance(): Promise<boolean> {
    const [session] = await this.#database.query<Lagging>(this.#lagging, [null]);
    if (session) await this.#slice(session, session.indexed_seq);
    return session === undefined;
  }

  async #catchUpWith(session: Lagging): Promise<void> {
    for (let done = session.indexed_seq; done < session.seq; ) {
      const next = await this.#slice(session, done);
      if (next === undefined) return; // it was changed, and is found again by the next search or slice
      done = next;
    }
  }

  /** Indexes some events after a position; returns the new one, or undefined when the log was changed or deleted meanwhile. */
  async #slice(session: Lagging, after: number): Promise<number | undefined> {
    const { key, id, seq, revision } = session;
    const rows = await this.#sessions.events(key, { after, until: seq, limit: SLICE_EVENTS });
    const until = rows.at(-1)?.seq ?? seq;
    const words: { readonly seq: number; readonly words: string | null }[] = [];
    for (const row of rows) {
      const event = decoded(id, row);
      const found = event && (await this.wordsIn(key, event));
      if (found !== undefined) words.push({ seq: row.seq, words: found });
    }
    const done = await this.#database.transaction(async (sql) => {
      const updated = await sql.query(this.#progress, [key, until, revision]);
      if (updated.length === 0) return false;
      if (words.length === 0) return true;
      await sql.query(this.#add, [key, words.map((each) => each.seq), words.map((each) => each.words)]);
      return true;
    });
    return done ? until : undefined;
  }

  /** The distinct words of an event, separated by spaces; null for too many, undefined for none. */
  async wordsIn(key: string, event: SessionEvent, sql: Sql = this.#database): Promise<string | null | undefined> {
    const texts = await this.#textsOf(key, event, sql);
    const words = new Set(texts.flatMap(({ text }) => wordsOf(text)));
    if (words.size === 0) return undefined;
    const all = [...words].join(' ');
    return all.length > MAX_WORDS_LENGTH ? null : all;
  }

  /** The newest hits: of the session that started last first, and in it from its end. */
  async find(
    terms: readonly SearchTerm[],
    sessionId: string | undefined,
    limit: number,
  ): Promise<readonly SearchHit[]> {
    const query = terms
      .flatMap(({ words, prefix }) => words.map((word, i) => lexeme(word, prefix && i === words.length - 1)))
      .join(' & ');
    const hits: SearchHit[] = [];
    let end: Pick<Found, 'key' | 'seq'> | undefined;
    // An event may have all words and still not match, for example in another order: then more events are read.
    while (hits.length < limit) {
      const found = await this.#candidates(query, sessionId, end, limit);
      for (const row of found) {
        const event = decoded(row.id, row);
        if (!event) continue;
        const matches = matchTexts(await this.#textsOf(row.key, event), terms);
        hits.push(...matches.map((hit) => ({ sessionId: row.id, seq: row.seq, at: row.at, ...hit })));
      }
      end = found.at(-1);
      if (found.length < limit) break;
    }
    return hits.slice(0, limit);
  }

  #candidates(
    query: string,
    sessionId: string | undefined,
    end: Pick<Found, 'key' | 'seq'> | undefined,
    limit: number,
  ): Promise<readonly Found[]> {
    const values: unknown[] = [query, limit];
    const value = (given: unknown): string => `$${values.push(given)}`;
    const where = ['(w.words @@ $1::tsquery OR w.words IS NULL)', 's.building_until IS NULL'];
    if (sessionId !== undefined) where.push(`s.id = ${value(sessionId)}`);
    if (end) where.push(`(w.key, w.seq) < (${value(end.key)}::bigint, ${value(end.seq)}::int)`);
    return this.#database.query<Found>(
      {
        text: `SELECT w.key::text AS key, s.id, e.seq, e.at, e.type, e.data
               FROM ${this.#database.table('search')} w JOIN ${this.#database.table('sessions')} s USING (key)
                 JOIN ${this.#database.table('events')} e ON e.key = w.key AND e.seq = w.seq
               WHERE ${where.join(' AND ')} ORDER BY w.key DESC, w.seq DESC LIMIT $2`,
      },
      values,
    );
  }

  async #textsOf(
    key: string,
    event: SessionEvent,
    sql: Sql = this.#database,
  ): Promise<ReturnType<typeof searchableTexts>> {
    const name = event.type === 'source/recorded' ? event.content : undefined;
    const contents = await this.#contents.readMany(key, name === undefined ? [] : [String(name)], sql);
    return searchableTexts(event, (hash) => contents.get(hash));
  }
}

/** A word as part of a query; words have neither quotes nor spaces. */
function lexeme(word: string, isPrefix: boolean): string {
  return `'${word.replaceAll(/['\\]/g, '')}'${isPrefix ? ':*' : ''}`;
}

/** An event, or undefined when it cannot be read: `check` reports it. */
function decoded(sessionId: string, { seq, at, type, data }: StoredEvent): SessionEvent | undefined {
  try {
    return decodeEvent(sessionId, seq, at, type, data);
  } catch {
    return undefined;
  }
}
