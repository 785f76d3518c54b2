import { checkCount } from '../check-arguments.ts';
import { decodeEvent } from '../encoded-event.ts';
import { BackgroundIndexing } from '../search/background-indexing.ts';
import type { OwnBackend, Replacement } from '../shell/backend.ts';
import { Shell } from '../shell/define-store.ts';
import { systemClock } from '../system-clock.ts';
import { AppendJoins } from './append-joins.ts';
import { AppendQueue } from './appends/append-queue.ts';
import { keepingAlive, type Sql } from './connection/database.ts';
import { checkIntegrity } from './connection/integrity.ts';
import { Notices } from './connection/notices.ts';
import { renewalPart } from './connection/renewal-source.ts';
import type { OpenDatabase } from './open-database.ts';
import type { PostgresStore, PostgresStoreOptions } from './postgres-store.ts';
import { ContentRows } from './rows/content-rows.ts';
import { DraftRows } from './rows/draft-rows.ts';
import { LeaseRows } from './rows/lease-rows.ts';
import { SessionFork } from './rows/session-fork.ts';
import { SessionList, SUMMARY_COLUMNS, type SummaryRow, summaryOf } from './rows/session-list.ts';
import { SessionRemoval } from './rows/session-removal.ts';
import { SessionRows } from './rows/session-rows.ts';
import { SearchIndex } from './search/search-index.ts';

/** The store on an open database. */
export function storeOnDatabase(open: OpenDatabase, options: PostgresStoreOptions): PostgresStore {
  const { database, listener, isTransactionPooled } = open;
  const { clock = systemClock, backgroundIndexing = true } = options;
  /** Null: the server's clock. */
  const time = (): number | null => (options.clock === undefined ? null : clock.now());
  const table = (name: string): string => database.table(name);
  const sessions = new SessionRows(database);
  const leases = new LeaseRows(database, time);
  const drafts = new DraftRows(database);
  const contents = new ContentRows(database);
  const list = new SessionList(database);
  const notices = new Notices({ database, listener });
  const joins = new AppendJoins();
  const index = new SearchIndex(database, sessions, contents);
  const indexing = new BackgroundIndexing({ advance: () => index.advance(), delayMs: 2000, pauseMs: 20 });
  const queue = new AppendQueue({ database, joins });
  const removal = new SessionRemoval(database, sessions);
  const forks = new SessionFork(database, sessions, removal);
  const renewals = open.thread && renewalPart(database, open.thread);

  function scheduleIndexing(): void {
    if (backgroundIndexing) indexing.schedule();
  }

  /** In a transaction: replaces an event, with everything that was made from it. */
  async function replace(sql: Sql, key: string, replacement: Replacement): Promise<boolean> {
    const { seq, event, contents: kept, revision, summarizedSeq, summarize } = replacement;
    const { at, type, data } = event;
    const session = await sessions.lock(sql, { key });
    if (session?.revision !== revision) return false;
    const { seq: until } = session;
    const summary = summarize(await sessions.events(key, { after: summarizedSeq, until, limit: null }, sql));
    const run = (name: string, text: string, ...values: readonly unknown[]) =>
      sql.query({ name: `replace-${name}`, text }, [key, ...values]);
    await run(
      'event',
      `UPDATE ${table('events')} SET at = $3, type = $4, data = $5 WHERE key = $1 AND seq = $2`,
      ...[seq, at, type, data],
    );
    await run(
      'contents',
      `WITH ended AS (DELETE FROM ${table('event_contents')} WHERE key = $1 AND seq = $2 AND NOT hash = ANY ($3::text[]) RETURNING hash)
       DELETE FROM ${table('contents')} c USING ended WHERE c.key = $1 AND c.hash = ended.hash AND NOT EXISTS (
         SELECT 1 FROM ${table('event_contents')} r WHERE r.key = $1 AND r.hash = ended.hash AND r.seq <> $2)`,
      ...[seq, kept],
    );
    await run('snapshot', `DELETE FROM ${table('snapshots')} WHERE key = $1`);
    await run('words', `DELETE FROM ${table('search')} WHERE key = $1 AND seq = $2`, seq);
    const words = await index.wordsIn(key, decodeEvent(session.id, seq, at, type, data), sql);
    if (words !== undefined) {
      const vector = `CASE WHEN $3::text IS NULL THEN NULL ELSE array_to_tsvector(string_to_array($3, ' ')) END`;
      await run('new-words', `INSERT INTO ${table('search')} (key, seq, words) VALUES ($1, $2, ${vector})`, seq, words);
    }
    await run(
      'session',
      `UPDATE ${table('sessions')} SET revision = revision + 1, updated_at = coalesce($2::text, updated_at),
         updated_hour = coalesce(left($2::text, 13), updated_hour), summary = $3, status = $4, work = $5, wake_at = $6,
         summary_seq = $7, summary_revision = $8, summary_version = $9 WHERE key = $1`,
      ...[seq === until ? at : null, summary.data, summary.status ?? null, summary.work ?? null],
      ...[summary.wakeAt ?? null, summary.seq, summary.revision, summary.version],
    );
    return true;
  }

  const backend: OwnBackend<string> = {
    where: 'the database',
    leases,
    feed: notices,
    renewals,

    find: (sessionId) => sessions.find(sessionId),

    async append(sessionId, append) {
      const key = await queue.append(sessionId, append);
      if (key === undefined) await database.checkLayout();
      else scheduleIndexing();
      return key;
    },

    events: (key, range) => sessions.events(key, range),

    async lastAppend(key) {
      const text = `SELECT last_append FROM ${table('sessions')} WHERE key = $1`;
      const [row] = await database.query<{ readonly last_append: string | null }>({ name: 'last-append', text }, [key]);
      return row?.last_append ?? undefined;
    },

    async summary(key) {
      const text = `SELECT ${SUMMARY_COLUMNS} FROM ${table('sessions')} WHERE key = $1`;
      const [row] = await database.query<SummaryRow>({ name: 'summary', text }, [key]);
      return summaryOf(row);
    },

    replace: (key, replacement) => database.transaction((sql) => replace(sql, key, replacement)),

    async fork(origin, fork) {
      const isForked = await forks.fork(origin, fork);
      scheduleIndexing();
      return isForked;
    },

    remove: (_, key) => removal.delete(key),
    list: (query) => list.read(query),

    async writeSnapshot(key, { seq, data }, revision) {
      const text = `INSERT INTO ${table('snapshots')} (key, seq, data)
        SELECT key, $2::int, $3::text FROM ${table('sessions')} WHERE key = $1 AND revision = $4 FOR NO KEY UPDATE
        ON CONFLICT (key) DO UPDATE SET seq = excluded.seq, data = excluded.data WHERE excluded.seq >= snapshots.seq`;
      await database.query({ name: 'write-snapshot', text }, [key, seq, data, revision]);
    },

    async readSnapshot(key) {
      const text = `SELECT seq, data FROM ${table('snapshots')} WHERE key = $1`;
      return (
        await database.query<{ readonly seq: number; readonly data: string }>({ name: 'read-snapshot', text }, [key])
      )[0];
    },

    writeDrafts: (...chunks) => drafts.append(...chunks),
    readDrafts: (...range) => drafts.read(...range),
    readContent: (key, hash) => contents.read(key, hash),
    readCallContent: (key, call) => contents.readCall(key, call),

    async search(terms, { sessionId, limit }) {
      await index.catchUp(sessionId);
      return index.find(terms, sessionId, limit);
    },

    check: () => checkIntegrity(database),
    closing: () => indexing.stop(),

    close: () =>
      keepingAlive(async () => {
        await queue.idle();
        removal.stop();
        await indexing.idle();
        await notices.close();
        await database.close(open.owned);
      }),
  };

  removal.schedule(time);
  scheduleIndexing();
  const shell = new Shell(backend, { clock });
  return {
    ...shell.store,

    joinAppends(join) {
      shell.enter();
      return joins.add(join);
    },

    async sessionsWithWork(workOptions = {}) {
      shell.enter();
      if (workOptions.limit !== undefined) checkCount('limit', workOptions.limit, 1);
      return shell.run(async () => shell.infos(await list.withWork(workOptions, time())));
    },

    settings() {
      shell.enter();
      return {
        schema: database.schema,
        isTransactionPooled,
        renewsIn: renewals && clock.monotonic ? 'thread' : 'event loop',
        watchesBy: listener ? 'notices' : 'polling',
      };
    },
  };
}
