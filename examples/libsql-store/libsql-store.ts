/** A store in libSQL, as an example of one for a database that Holdfast does not bring (docs/writing-a-store.md). */
import { createHash } from 'node:crypto';
import type { Clock, Store } from 'holdfast';
import {
  type AppendRows,
  defineStore,
  type LeaseRows,
  type ListedRow,
  type SessionRow,
  type StoreBackend,
  type StoredEvent,
  type StoredLease,
  type StoredSummary,
} from 'holdfast/store';
import { change, errorCode, type LibsqlDatabase, next, openDatabase, query, SLICE, type Sql } from './database.ts';

export interface LibsqlStoreOptions {
  /** What leases expire by. */
  readonly clock?: Clock;
  /** Called between two writes: tests kill the process there. */
  readonly pass?: (point: string) => void;
}

/** Opens or creates a store in a file of libSQL. Any number of processes may share it. */
export async function libsqlStore(path: string, { clock, pass = () => {} }: LibsqlStoreOptions = {}): Promise<Store> {
  const database = await openDatabase(path, pass);
  // What a process that died has left.
  for (const { key } of await query<{ readonly key: number }>(database.sql, 'SELECT key FROM doomed')) {
    await database.clear(key);
  }
  return defineStore(backendOn(database, path), { clock });
}

interface FoundRow {
  readonly key: number;
  readonly incarnation: number;
  readonly seq: number;
  readonly revision: number;
  readonly fence: number | null;
  readonly last_append: string | null;
  readonly lease: string | null;
}

const FOUND = 'SELECT key, incarnation, seq, revision, fence, last_append, lease FROM sessions';

async function rowOf(sql: Sql, id: string): Promise<FoundRow | undefined> {
  return (await query<FoundRow>(sql, `${FOUND} WHERE id = ?`, id))[0];
}

async function rowAt(sql: Sql, key: number): Promise<FoundRow | undefined> {
  return (await query<FoundRow>(sql, `${FOUND} WHERE key = ?`, key))[0];
}

/** A deleted session leaves a hash of its id, and how often it began. */
function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('base64url');
}

async function nextIncarnation(sql: Sql, id: string): Promise<number> {
  const text = 'SELECT incarnation FROM deleted WHERE id_hash = ?';
  const [row] = await query<{ readonly incarnation: number }>(sql, text, hashOf(id));
  return (row?.incarnation ?? 0) + 1;
}

async function create(sql: Sql, id: string): Promise<number> {
  const key = await next(sql, 'key');
  const text = 'INSERT INTO sessions (key, id, incarnation) VALUES (?, ?, ?)';
  await change(sql, text, key, id, await nextIncarnation(sql, id));
  return key;
}

function leaseOf(row: Pick<FoundRow, 'lease' | 'fence'> | undefined): StoredLease | undefined {
  if (row?.lease === null || row === undefined) return undefined;
  return { ...(JSON.parse(row.lease) as Omit<StoredLease, 'fence'>), fence: row.fence ?? 0 };
}

async function insertEvents(
  sql: Sql,
  key: number,
  first: number,
  append: Pick<AppendRows, 'id' | 'events'>,
): Promise<void> {
  for (const [i, { at, type, data }] of append.events.entries()) {
    const text = 'INSERT INTO events (key, seq, append_id, at, type, data) VALUES (?, ?, ?, ?, ?, ?)';
    await change(sql, text, key, first + i, i === 0 ? append.id : null, at, type, data);
  }
}

async function writeSummary(sql: Sql, key: number, summary: StoredSummary): Promise<void> {
  const hasWork = summary.work !== undefined || summary.wakeAt !== undefined;
  const text = 'UPDATE sessions SET summary = ?, has_work = ? WHERE key = ?';
  await change(sql, text, JSON.stringify(summary), hasWork ? 1 : 0, key);
}

/** The state of a session that an append was made for. */
function continues(row: FoundRow | undefined, incarnation: number, append: AppendRows<number>): boolean {
  const { expectedSeq, fence } = append;
  if (append.incarnation !== undefined && append.incarnation !== incarnation) return false;
  if (fence !== undefined && fence !== row?.fence) return false;
  if (expectedSeq !== (row?.seq ?? 0)) return false;
  if (row === undefined || expectedSeq === 0) return true;
  return row.key === append.key && row.revision === append.revision && row.last_append !== append.id;
}

function leaseRows({ sql: reading, write }: LibsqlDatabase): LeaseRows {
  const put = (sql: Sql, key: number, fence: number, lease: Omit<StoredLease, 'fence'> | undefined): Promise<number> =>
    change(sql, 'UPDATE sessions SET fence = ?, lease = ? WHERE key = ?', fence, lease && JSON.stringify(lease), key);
  return {
    read: async (id) => leaseOf(await rowOf(reading, id)),
    grant: (id, lease, over) =>
      write(async (sql) => {
        const row = await rowOf(sql, id);
        const current = leaseOf(row);
        if (current?.fence !== over?.fence || current?.renewals !== over?.renewals) return undefined;
        const fence = await next(sql, 'fence');
        await put(sql, row?.key ?? (await create(sql, id)), fence, { ...lease, renewals: 0 });
        return fence;
      }),
    renew: (id, fence, term) =>
      write(async (sql) => {
        const row = await rowOf(sql, id);
        const lease = leaseOf(row);
        if (row === undefined || lease?.fence !== fence) return false;
        await put(sql, row.key, fence, { holder: lease.holder, ...term, renewals: lease.renewals + 1 });
        return true;
      }),
    release: (id, fence, seq) =>
      write(async (sql) => {
        const row = await rowOf(sql, id);
        if (row === undefined || leaseOf(row)?.fence !== fence || (seq ?? row.seq) !== row.seq) return false;
        await put(sql, row.key, fence, undefined);
        return true;
      }),
  };
}

function backendOn(database: LibsqlDatabase, path: string): StoreBackend<number> {
  const { sql: reading, write, clear } = database;

  async function events(sql: Sql, key: number, after: number, until: number, limit: number): Promise<StoredEvent[]> {
    const rows = await query<Omit<StoredEvent, 'appendId'> & { readonly append_id: string | null }>(
      sql,
      'SELECT seq, at, type, data, append_id FROM events WHERE key = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?',
      ...[key, after, until, limit],
    );
    return rows.map(({ seq, at, type, data, append_id }) => ({
      seq,
      at,
      type,
      data,
      appendId: append_id ?? undefined,
    }));
  }

  return {
    where: path,
    errorCode,
    leases: leaseRows(database),

    async find(id): Promise<SessionRow<number>> {
      const row = await rowOf(reading, id);
      if (!row) return { incarnation: await nextIncarnation(reading, id), seq: 0, revision: 0 };
      const { key, incarnation, seq, revision, fence } = row;
      return { key, incarnation, seq, revision, fence: fence ?? undefined };
    },

    append: (id, append) =>
      write(async (sql) => {
        const row = await rowOf(sql, id);
        if (!continues(row, row?.incarnation ?? (await nextIncarnation(sql, id)), append)) return undefined;
        const key = row?.key ?? (await create(sql, id));
        const seq = append.expectedSeq + append.events.length;
        const text = 'UPDATE sessions SET seq = ?, updated_at = ?, last_append = ? WHERE key = ?';
        await change(sql, text, seq, append.events.at(-1)?.at, append.id, key);
        await insertEvents(sql, key, append.expectedSeq + 1, append);
        if (append.summary) await writeSummary(sql, key, append.summary);
        for (const { seq: at, hash, text: content } of append.contents) {
          await change(sql, 'INSERT INTO contents VALUES (?, ?, ?) ON CONFLICT DO NOTHING', key, hash, content);
          await change(sql, 'INSERT INTO content_refs VALUES (?, ?, ?) ON CONFLICT DO NOTHING', key, at, hash);
        }
        for (const { call, text: content } of append.putCalls) {
          await change(sql, 'INSERT OR REPLACE INTO call_contents VALUES (?, ?, ?)', key, call, content);
        }
        for (const call of append.dropCalls) {
          await change(sql, 'DELETE FROM call_contents WHERE key = ? AND call = ?', key, call);
        }
        for (const draftId of append.endsDrafts) {
          await change(sql, 'DELETE FROM drafts WHERE key = ? AND draft_id = ?', key, draftId);
        }
        return key;
      }),

    events: (key, { after, until, limit }) => events(reading, key, after, until, limit),

    lastAppend: async (key) => (await rowAt(reading, key))?.last_append ?? undefined,

    async summary(key) {
      const text = 'SELECT summary FROM sessions WHERE key = ?';
      return summaryOf((await query<{ readonly summary: string | null }>(reading, text, key))[0]?.summary);
    },

    replace: (key, { seq, event, contents, revision, summarizedSeq, summarize }) =>
      write(async (sql) => {
        const row = await rowAt(sql, key);
        if (row?.revision !== revision) return false;
        const summary = summarize(await events(sql, key, summarizedSeq, row.seq, row.seq));
        const text = 'UPDATE events SET at = ?, type = ?, data = ? WHERE key = ? AND seq = ?';
        await change(sql, text, event.at, event.type, event.data, key, seq);
        const kept = JSON.stringify(contents);
        const ended =
          'DELETE FROM content_refs WHERE key = ? AND seq = ? AND hash NOT IN (SELECT value FROM json_each(?))';
        await change(sql, ended, key, seq, kept);
        const lost = 'DELETE FROM contents WHERE key = ? AND hash NOT IN (SELECT hash FROM content_refs WHERE key = ?)';
        await change(sql, lost, key, key);
        await change(sql, 'DELETE FROM snapshots WHERE key = ?', key);
        await change(sql, 'UPDATE sessions SET revision = revision + 1 WHERE key = ?', key);
        if (seq === row.seq) await change(sql, 'UPDATE sessions SET updated_at = ? WHERE key = ?', event.at, key);
        await writeSummary(sql, key, summary);
        return true;
      }),

    async fork(origin, { target, revision, at, events: closing, summary }) {
      // The copy is doomed until it is complete: a crash leaves nothing that is not removed later.
      const key = await write(async (sql) => {
        const own = await next(sql, 'key');
        await change(sql, 'INSERT INTO doomed VALUES (?)', own);
        return own;
      });
      for (let after = 0; after < at; after += SLICE) {
        const range = [key, origin, after, Math.min(after + SLICE, at)];
        await write(async (sql) => {
          await change(
            sql,
            `INSERT INTO events SELECT ?, seq, CASE seq WHEN 1 THEN 'fork' END, at, type, data FROM events
             WHERE key = ? AND seq > ? AND seq <= ?`,
            ...range,
          );
          await change(
            sql,
            `INSERT INTO contents SELECT DISTINCT ?, hash, text FROM contents JOIN content_refs USING (key, hash)
             WHERE key = ? AND seq > ? AND seq <= ? ON CONFLICT DO NOTHING`,
            ...range,
          );
          const references = 'INSERT INTO content_refs SELECT ?, seq, hash FROM content_refs';
          await change(sql, `${references} WHERE key = ? AND seq > ? AND seq <= ?`, ...range);
          return true;
        });
      }
      const isForked = await write(async (sql) => {
        const there = await rowOf(sql, target);
        if ((await rowAt(sql, origin))?.revision !== revision || (there?.seq ?? 0) > 0) return false;
        // Another process may have taken it for the rest of a dead one.
        if ((await change(sql, 'DELETE FROM doomed WHERE key = ?', key)) === 0) return false;
        if (there) await change(sql, 'DELETE FROM sessions WHERE key = ?', there.key);
        const incarnation = there?.incarnation ?? (await nextIncarnation(sql, target));
        await change(
          sql,
          'INSERT INTO sessions (key, id, incarnation, seq, updated_at, last_append) VALUES (?, ?, ?, ?, ?, ?)',
          ...[key, target, incarnation, at + closing.length, closing.at(-1)?.at, 'fork:end'],
        );
        await insertEvents(sql, key, at + 1, { id: 'fork:end', events: closing });
        await writeSummary(sql, key, summary);
        return true;
      });
      if (!isForked) await clear(key);
      return isForked;
    },

    async remove(id, key) {
      const seq = await write(async (sql) => {
        const row = await rowAt(sql, key);
        if (!row) return undefined;
        await change(sql, 'DELETE FROM sessions WHERE key = ?', key);
        await change(sql, 'INSERT INTO doomed VALUES (?)', key);
        await change(sql, 'INSERT OR REPLACE INTO deleted VALUES (?, ?)', hashOf(id), row.incarnation);
        return row.seq;
      });
      if (seq !== undefined) await clear(key);
      return seq;
    },

    async list({ after, limit, filter }): Promise<readonly ListedRow<number>[]> {
      const rows = await query<
        FoundRow & { readonly id: string; readonly updated_at: string; readonly summary: string }
      >(
        reading,
        `SELECT key, id, seq, revision, updated_at, summary, fence, lease FROM sessions
         WHERE seq > 0 ${filter.work ? 'AND has_work = 1' : ''} AND (?1 IS NULL OR updated_at < ?1 OR (updated_at = ?1 AND id > ?2))
         ORDER BY updated_at DESC, id LIMIT ?3`,
        ...[after?.updatedAt, after?.id, limit],
      );
      return rows.map((row) => {
        const { key, id, seq, revision, updated_at: updatedAt } = row;
        return { key, id, seq, revision, updatedAt, summary: summaryOf(row.summary), lease: leaseOf(row) };
      });
    },

    async writeSnapshot(key, { seq, data }, revision) {
      const text = `INSERT INTO snapshots SELECT key, ?, ? FROM sessions WHERE key = ? AND revision = ?
        ON CONFLICT (key) DO UPDATE SET seq = excluded.seq, data = excluded.data WHERE excluded.seq >= snapshots.seq`;
      await write((sql) => change(sql, text, seq, data, key, revision));
    },

    async readSnapshot(key) {
      const text = 'SELECT seq, data FROM snapshots WHERE key = ?';
      const [row] = await query<{ readonly seq: number; readonly data: string }>(reading, text, key);
      return row && { seq: row.seq, data: row.data };
    },

    writeDrafts: (key, fence, chunks, { draftIds, maxLength }) =>
      write(async (sql) => {
        if ((await rowAt(sql, key))?.fence !== fence) return false;
        for (const { n, draftId, length, data } of chunks) {
          const text = 'INSERT INTO drafts VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING';
          await change(sql, text, key, fence, n, draftId, length, data);
        }
        for (const draftId of draftIds) {
          await change(
            sql,
            `DELETE FROM drafts WHERE key = ?1 AND (fence, n) IN (SELECT fence, n FROM (
               SELECT fence, n, sum(length) OVER newest AS total, row_number() OVER newest AS place FROM drafts
               WHERE key = ?1 AND draft_id = ?2 WINDOW newest AS (ORDER BY fence DESC, n DESC)) WHERE total > ?3 AND place > 1)`,
            ...[key, draftId, maxLength],
          );
        }
        return true;
      }),

    async readDrafts(key, { after, draftId, limit = -1 }) {
      const rows = await query<{
        readonly fence: number;
        readonly n: number;
        readonly draft_id: string;
        readonly data: string;
      }>(
        reading,
        `SELECT fence, n, draft_id, data FROM drafts WHERE key = ?1 AND (fence, n) > (?2, ?3) AND (?4 IS NULL OR draft_id = ?4)
         ORDER BY fence, n LIMIT ?5`,
        ...[key, after.fence, after.n, draftId, limit],
      );
      return rows.map(({ fence, n, draft_id, data }) => ({ fence, n, draftId: draft_id, data }));
    },

    async readContent(key, hash) {
      const text = `SELECT (SELECT text FROM contents WHERE key = ?1 AND hash = ?2) AS text FROM content_refs
        WHERE key = ?1 AND hash = ?2 LIMIT 1`;
      return (await query<{ readonly text: string | null }>(reading, text, key, hash))[0]?.text;
    },

    async readCallContent(key, call) {
      const text = 'SELECT text FROM call_contents WHERE key = ? AND call = ?';
      return (await query<{ readonly text: string }>(reading, text, key, call))[0]?.text;
    },

    async check() {
      const gaps = await query<{ readonly id: string; readonly seq: number; readonly found: number }>(
        reading,
        `SELECT id, s.seq AS seq, count(e.seq) AS found FROM sessions s LEFT JOIN events e ON e.key = s.key AND e.seq <= s.seq
         GROUP BY s.key HAVING found <> s.seq`,
      );
      const lost = await query<{ readonly id: string; readonly hash: string }>(
        reading,
        `SELECT id, hash FROM content_refs r JOIN sessions USING (key)
         WHERE NOT EXISTS (SELECT 1 FROM contents c WHERE c.key = r.key AND c.hash = r.hash)`,
      );
      const [counts] = await query<{ readonly sessions: number; readonly events: number }>(
        reading,
        'SELECT count(*) AS sessions, (SELECT count(*) FROM events JOIN sessions USING (key)) AS events FROM sessions WHERE seq > 0',
      );
      const problems = [
        ...gaps.map(({ id, seq, found }) => `session ${id} should have ${seq} events; it has ${found}`),
        ...lost.map(({ id, hash }) => `session ${id} refers to content ${hash}, which is missing`),
      ];
      const { sessions = 0, events: count = 0 } = counts ?? {};
      return { ok: problems.length === 0, problems, sessions, events: count };
    },

    async version() {
      const text = "SELECT value FROM counters WHERE name = 'commits'";
      return (await query<{ readonly value: number }>(reading, text))[0]?.value;
    },

    close: () => database.close(),
  };
}

function summaryOf(text: string | null | undefined): StoredSummary | undefined {
  return text ? (JSON.parse(text) as StoredSummary) : undefined;
}
