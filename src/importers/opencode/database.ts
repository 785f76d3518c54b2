/** OpenCode's SQLite database, opened read-only. One transaction serves the whole reading, so that it sees one snapshot. */
import { HoldfastError, messageOf } from '../../core/errors.ts';
import type { Database } from '../../stores/sqlite/driver.ts';
import { openForeignDatabase } from '../../stores/sqlite/open-database.ts';
import { asObject, type Json, parseJson } from '../../transcripts/json-access.ts';
import type { OpenCodeExportMessage } from '../../transcripts/opencode/export.ts';
import type { OpenCodeSession, OpenCodeSessions } from './sessions.ts';

/** How many messages are in memory at a time. */
const PAGE = 100;

const decoder = new TextDecoder();

interface SessionRow {
  readonly id: string;
  readonly parent_id: string | null;
  readonly title: string | null;
  readonly directory: string | null;
  readonly revert: string | null;
  readonly time_created: number;
  readonly time_updated: number;
  readonly messages: number;
}

interface DataRow {
  readonly id: string;
  readonly time_created: number;
  /** A BLOB: SQLite's reader cuts text at a NUL. */
  readonly data: Uint8Array | null;
}

/** Opens a database of OpenCode's. Throws `STORE_CORRUPT` when it is not one. */
export async function openOpenCodeDatabase(path: string): Promise<OpenCodeSessions> {
  const database = await openForeignDatabase(path);
  const guarded = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw new HoldfastError('STORE_CORRUPT', `${path} cannot be read as OpenCode's database: ${messageOf(error)}`, {
        cause: error,
      });
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
    database.close();
    throw error;
  }
  return {
    list: () => guarded(() => listSessions(database)),
    read: (session) => ({ info: session.info, messages: readMessages(database, session.id, guarded) }),
    close: async () => {
      database.close();
    },
  };
}

function checkLayout(database: Database): void {
  const tables = database.prepareValue<[], string>(`SELECT name FROM sqlite_master WHERE type = 'table'`).all();
  const missing = ['session', 'message', 'part'].filter((table) => !tables.includes(table));
  if (missing.length > 0) throw new Error(`it has no table ${missing.join(', ')}`);
}

function listSessions(database: Database): readonly OpenCodeSession[] {
  const columns = database.prepareValue<[], string>(`SELECT name FROM pragma_table_info('session')`).all();
  const rows = database
    .prepare<[], SessionRow>(
      `SELECT id, parent_id, title, directory, ${columns.includes('revert') ? 'revert' : 'NULL AS revert'},
         time_created, time_updated, (SELECT count(*) FROM message WHERE session_id = session.id) AS messages
       FROM session ORDER BY time_created, id`,
    )
    .all();
  return rows.map((row) => {
    const revert = row.revert === null ? undefined : asObject(parseJson(row.revert));
    const info: Json = {
      id: row.id,
      ...(row.parent_id !== null && { parentID: row.parent_id }),
      title: row.title,
      directory: row.directory,
      time: { created: row.time_created, updated: row.time_updated },
      ...(revert && { revert }),
    };
    return { id: row.id, parentId: row.parent_id ?? undefined, info, messages: row.messages };
  });
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
