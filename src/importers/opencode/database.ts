/** OpenCode's SQLite database, read through a private copy. One transaction serves the whole reading, so that it sees one snapshot. */
import { HoldfastError, messageOf } from '../../core/errors.ts';
import type { Database } from '../../stores/sqlite/driver.ts';
import { openForeignDatabase } from '../../stores/sqlite/open-database.ts';
import { asObject, type Json, parseJson } from '../../transcripts/json-access.ts';
import type { OpenCodeExportMessage } from '../../transcripts/opencode/export.ts';
import { copyDatabase } from './private-copy.ts';
import type { OpenCodeSession, OpenCodeSessions } from './sessions.ts';

/** How many messages are in memory at a time. */
const PAGE = 100;

const decoder = new TextDecoder();

/** Columns differ between versions: only these are always there. */
interface SessionRow {
  readonly id: string;
  readonly parent_id: string | null;
  readonly title: string | null;
  readonly directory: string | null;
  readonly time_created: number;
  readonly time_updated: number;
  readonly messages: number;
  readonly [column: string]: unknown;
}

/** Columns that an export holds under another name, or parsed. */
const TEXT_COLUMNS: Readonly<Record<string, string>> = {
  slug: 'slug',
  project_id: 'projectID',
  path: 'path',
  version: 'version',
  agent: 'agent',
  cost: 'cost',
};
const JSON_COLUMNS: readonly string[] = ['revert', 'permission', 'model', 'metadata'];

interface DataRow {
  readonly id: string;
  readonly time_created: number;
  /** A BLOB: SQLite's reader cuts text at a NUL. */
  readonly data: Uint8Array | null;
}

/** Opens a database of OpenCode's. Throws `STORE_CORRUPT` when it is not one. */
export async function openOpenCodeDatabase(path: string): Promise<OpenCodeSessions> {
  const copy = await copyDatabase(path);
  const corrupt = (error: unknown): HoldfastError =>
    new HoldfastError('STORE_CORRUPT', `${path} cannot be read as OpenCode's database: ${messageOf(error)}`, {
      cause: error,
    });
  const database = await openForeignDatabase(copy.path).catch(async (error: unknown) => {
    await copy.remove();
    throw corrupt(error);
  });
  const close = async (): Promise<void> => {
    database.close();
    await copy.remove();
  };
  const guarded = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw corrupt(error);
    }
  };
  try {
    guarded(() => {
      // The file's own schema must not run code here (views, triggers, functions).
      database.pragma('trusted_schema = OFF');
      database.exec('BEGIN');
      checkLayout(database);
    });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    list: () => guarded(() => listSessions(database)),
    stamps: () => guarded(() => readStamps(database)),
    read: (session) => ({ info: session.info, messages: readMessages(database, session.id, guarded) }),
    close,
  };
}

function checkLayout(database: Database): void {
  const tables = database.prepareValue<[], string>(`SELECT name FROM sqlite_master WHERE type = 'table'`).all();
  const missing = ['session', 'message', 'part'].filter((table) => !tables.includes(table));
  if (missing.length > 0) throw new Error(`it has no table ${missing.join(', ')}`);
}

function listSessions(database: Database): readonly OpenCodeSession[] {
  const rows = database
    .prepare<[], SessionRow>(
      `SELECT *, (SELECT count(*) FROM message WHERE session_id = session.id) AS messages
       FROM session ORDER BY time_created, id`,
    )
    .all();
  return rows.map((row) => {
    const { id, parent_id, messages } = row;
    return { id, parentId: parent_id ?? undefined, info: infoOf(row), messages };
  });
}

/** A session as an export holds it: `opencode import` needs more of it than a listing. */
function infoOf(row: SessionRow): Json {
  const info: Record<string, unknown> = { id: row.id, ...(row.parent_id !== null && { parentID: row.parent_id }) };
  for (const [column, name] of Object.entries(TEXT_COLUMNS)) if (row[column] != null) info[name] = row[column];
  for (const name of JSON_COLUMNS) {
    const value = typeof row[name] === 'string' ? parseJson(row[name]) : undefined;
    if (value !== undefined && value !== null) info[name] = value;
  }
  return {
    ...info,
    title: row.title,
    directory: row.directory,
    time: { created: row.time_created, updated: row.time_updated },
  };
}

/** OpenCode sets `time_updated` of every row that it changes; counts show what it removed. */
function readStamps(database: Database): ReadonlyMap<string, string> {
  const hasTimes = ['message', 'part'].every((table) =>
    database
      .prepareValue<[string], string>('SELECT name FROM pragma_table_info(?)')
      .all(table)
      .includes('time_updated'),
  );
  if (!hasTimes) return new Map();
  const stamps = new Map<string, string>();
  for (const table of ['message', 'part']) {
    const rows = database
      .prepare<[], { readonly id: string; readonly stamp: string }>(
        `SELECT session_id AS id, count(*) || '/' || max(time_updated) || '/' || sum(octet_length(data)) AS stamp
         FROM ${table} GROUP BY session_id`,
      )
      .all();
    for (const { id, stamp } of rows) stamps.set(id, `${stamps.get(id) ?? ''}${table} ${stamp};`);
  }
  return stamps;
}

/** A session's messages in order, a page at a time. */
function* readMessages(
  database: Database,
  sessionId: string,
  guarded: <T>(work: () => T) => T,
): Generator<OpenCodeExportMessage> {
  const page = database.prepare<[string, number, number, string], DataRow>(
    `SELECT id, time_created, CAST(data AS BLOB) AS data FROM message WHERE session_id = ? AND (time_created > ? OR time_created = ? AND id > ?)
     ORDER BY time_created, id LIMIT ${PAGE}`,
  );
  const partsOf = database.prepare<[string], DataRow>(
    'SELECT id, time_created, CAST(data AS BLOB) AS data FROM part WHERE message_id = ? ORDER BY id',
  );
  let after = { time_created: Number.MIN_SAFE_INTEGER, id: '' };
  while (true) {
    const { time_created: time, id } = after;
    const rows = guarded(() => page.all(sessionId, time, time, id));
    for (const row of rows) {
      const parts = guarded(() => partsOf.all(row.id));
      yield {
        info: { ...contentOf(row), id: row.id, sessionID: sessionId },
        parts: parts.map((part) => ({ ...contentOf(part), id: part.id, messageID: row.id, sessionID: sessionId })),
      };
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = last;
  }
}

/** The JSON of a row. It does not contain the row's ids. */
function contentOf(row: DataRow): Json {
  return asObject(parseJson(row.data === null ? '' : decoder.decode(row.data))) ?? {};
}
