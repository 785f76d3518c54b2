import { createHash } from 'node:crypto';
import type { CommitFeed } from '../../shell/watching.ts';
import { Watchers } from '../../watchers.ts';
import type { PostgresDatabase } from './database.ts';
import type { NoticeListener } from './notice-listener.ts';

/** Notices are spread over so many channels: a process listens to those of the sessions that it watches. */
const CHANNELS = 64;
/** Notices that follow each other are merged for this long. */
const MERGE_MS = 25;
/** While notices arrive, watched sessions are looked at this often: the writer may have died between its commit and the notice. */
const LOOK_MS = 1000;
/** While they do not arrive. */
const LOOK_WITHOUT_NOTICES_MS = 150;
/** A crash of the server loses notices: their commit waits for no disk, and no append waits for their commit. */
const WITHOUT_SYNC = 'SET LOCAL synchronous_commit = off';

/** Listens for what other processes commit, and notifies them. */
export interface Notified {
  readonly database: PostgresDatabase;
  /** Absent behind a proxy that hands connections around: watched sessions are then only looked at. */
  readonly listener: NoticeListener | undefined;
}

/**
 * The live tail across processes. A notice only wakes: the watcher then reads the log, so a notice may be late, doubled or lost.
 *
 *     commit ─▶ notify ─▶ each listening process ─▶ watchers of that session
 *     lost connection ─▶ connect and listen again ─▶ all watchers, once
 *     every second ─▶ positions of the watched sessions ─▶ watchers of those that changed
 *
 * A notice is sent after the commit and not in its transaction: PostgreSQL lets transactions that notify commit one after the other.
 */
export class Notices implements CommitFeed {
  readonly #parts: Notified;
  #watchers = new Watchers();
  /** Where each watched session was when it was last looked at. */
  readonly #positions = new Map<string, string>();
  /** Sessions of which other processes are notified next. */
  #pending = new Set<string>();
  #hasWork = false;
  #sending: Promise<void> | undefined;
  #lastSent = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(parts: Notified) {
    this.#parts = parts;
    parts.listener?.onNotice((channel, payload) => this.#receive(channel, payload));
    parts.listener?.onListening(() => this.#watchers.notifyAll());
  }

  start(watchers: Watchers): void {
    this.#watchers = watchers;
  }

  watch(sessionId: string): void {
    const { database, listener } = this.#parts;
    // A commit between this and the first look is announced once too often, not missed.
    listener?.listen(channelOf(database.schema, sessionId), () => this.#watchers.notify(sessionId));
    this.#look();
  }

  watchWork(): void {
    const { database, listener } = this.#parts;
    listener?.listen(workChannel(database.schema), () => this.#watchers.notifyWork());
    this.#look();
  }

  /** A commit of this process. */
  committed(sessionId: string, hasWork: boolean): void {
    if (this.#closed) return;
    this.#pending.add(sessionId);
    this.#hasWork ||= hasWork;
    if (this.#sending || this.#timer) return;
    const wait = this.#lastSent + MERGE_MS - performance.now();
    if (wait <= 0) this.#send();
    else this.#timer = setTimeout(() => this.#send(), wait);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#looking);
    if (this.#timer) this.#send();
    await this.#sending;
    await this.#parts.listener?.close();
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { database } = this.#parts;
    if (this.#pending.size === 0) return;
    const { schema } = database;
    const notices = [...this.#pending].map((sessionId) => notify(channelOf(schema, sessionId), sessionId));
    if (this.#hasWork) notices.push(notify(workChannel(schema), ''));
    this.#pending = new Set();
    this.#hasWork = false;
    this.#sending = database
      .aside((sql) => sql.run({ text: [WITHOUT_SYNC, ...notices].join(';') }))
      .then(ignore, ignore) // other processes find out by looking
      .then(() => {
        this.#sending = undefined;
        this.#lastSent = performance.now();
        if (this.#pending.size > 0) this.#timer ??= setTimeout(() => this.#send(), this.#closed ? 0 : MERGE_MS);
      });
  }

  #receive(channel: string, sessionId: string): void {
    if (channel === workChannel(this.#parts.database.schema)) this.#watchers.notifyWork();
    else this.#watchers.notify(sessionId);
  }

  /** Looks at the watched sessions now and then, while there are any. */
  #look(): void {
    if (this.#looking) return;
    const wait = this.#parts.listener?.isListening ? LOOK_MS : LOOK_WITHOUT_NOTICES_MS;
    this.#looking = setTimeout(() => void this.#lookNow(), wait).unref();
  }

  async #lookNow(): Promise<void> {
    const watchers = this.#watchers;
    try {
      watchers.notifyWork();
      const watched = [...watchers.sessions()];
      const positions = watched.length > 0 ? await this.#readPositions(watched) : new Map<string, string>();
      for (const sessionId of watched) {
        const position = positions.get(sessionId) ?? '';
        if (this.#positions.get(sessionId) !== position) watchers.notify(sessionId);
        this.#positions.set(sessionId, position);
      }
      for (const sessionId of this.#positions.keys()) if (!watchers.has(sessionId)) this.#positions.delete(sessionId);
    } catch {
      // It cannot be reached; the next look may.
    }
    this.#looking = undefined;
    if (!this.#closed && watchers.isWatching) this.#look();
  }

  async #readPositions(watched: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { database } = this.#parts;
    const rows = await database.aside((sql) =>
      sql.query<{ readonly id: string; readonly position: string }>(
        {
          name: 'positions',
          text: `SELECT id, concat_ws('/', key, seq, revision, (SELECT fence || '.' || n FROM ${database.table('drafts')} d
                   WHERE d.key = s.key ORDER BY fence DESC, n DESC LIMIT 1)) AS position
                 FROM ${database.table('sessions')} s WHERE id = ANY ($1::text[])`,
        },
        [watched],
      ),
    );
    return new Map(rows.map(({ id, position }) => [id, position]));
  }
}

function channelOf(schema: string, sessionId: string): string {
  const bucket = createHash('md5').update(sessionId).digest().readUInt32LE() % CHANNELS;
  return `holdfast/${schema}/${bucket}`;
}

function workChannel(schema: string): string {
  return `holdfast/${schema}/work`;
}

/** A statement that needs neither a plan nor a result: it is a quarter of the work of calling `pg_notify`. */
function notify(channel: string, payload: string): string {
  return `NOTIFY "${channel}", E'${payload.replaceAll(/['\\]/g, '$&$&')}'`;
}

function ignore(): void {}
