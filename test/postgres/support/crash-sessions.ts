/** The sessions of the crash matrix: all in one schema, one for each directory, copied with it. */
import { createHash } from 'node:crypto';
import { cpSync } from 'node:fs';
import type pg from 'pg';
import type { Store } from '../../../src/ports/store.ts';
import { idHash } from '../../../src/stores/postgres/rows/session-rows.ts';
import type { CopyDirectory } from '../../crash/matrix.ts';
import { queryOnce } from './server.ts';

const SCHEMA = 'crash_matrix';
const TABLES = ['events', 'snapshots', 'drafts', 'contents', 'event_contents', 'call_contents', 'search'];

/** The name that the scenarios give their session. */
const NAME = 'crash';

export { SCHEMA as CRASH_SCHEMA };

/** The session that belongs to a directory. */
function sessionOf(dir: string): string {
  return `${NAME}-${createHash('sha256').update(dir).digest('hex').slice(0, 16)}`;
}

/** A store in which the session of the scenarios is the one of this directory: thousands of them share the tables. */
export function storeOf(dir: string, store: Store): Store {
  return new Proxy(store, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      return (first: unknown, ...rest: unknown[]) =>
        Reflect.apply(value, target, [first === NAME ? sessionOf(dir) : first, ...rest]);
    },
  });
}

/** The tables that hold one of these texts for the session of a directory. */
export async function tablesWith(url: string, dir: string, texts: readonly string[]): Promise<readonly string[]> {
  const where = `key = (SELECT key FROM ${SCHEMA}.sessions WHERE id = $1)
    AND EXISTS (SELECT 1 FROM unnest($2::text[]) s WHERE strpos(t::text, s) > 0)`;
  const text = ['sessions', ...TABLES].map(
    (name) => `SELECT '${name}' AS name FROM ${SCHEMA}.${name} t WHERE ${where}`,
  );
  const rows = await queryOnce(url, text.join(' UNION '), [sessionOf(dir), texts]);
  return rows.map(({ name }) => String(name));
}

/** Copies a directory and its session with everything that belongs to it, over one connection. */
export function copyWithSession(client: Pick<pg.Client, 'query'>): CopyDirectory {
  const text = copyStatement(client);
  return async (from, to) => {
    cpSync(from, to, { recursive: true });
    await client.query(await text, [sessionOf(from), sessionOf(to), idHash(sessionOf(to))]);
  };
}

async function copyStatement(client: Pick<pg.Client, 'query'>): Promise<string> {
  const { rows } = await client.query<{ readonly table_name: string; readonly columns: string }>(
    `SELECT table_name, string_agg(column_name, ', ') AS columns FROM information_schema.columns
     WHERE table_schema = $1 AND column_name NOT IN ('key', 'id') GROUP BY table_name`,
    [SCHEMA],
  );
  const columns = new Map(rows.map((row) => [row.table_name, row.columns]));
  const copies = TABLES.map((table, i) => {
    const own = columns.get(table);
    return `, c${i} AS (INSERT INTO ${SCHEMA}.${table} (key, ${own})
      SELECT copied.key, ${own} FROM ${SCHEMA}.${table} t, copied, origin WHERE t.key = origin.key)`;
  });
  const own = columns.get('sessions');
  return `WITH origin AS (SELECT key, incarnation FROM ${SCHEMA}.sessions WHERE id = $1),
      copied AS (INSERT INTO ${SCHEMA}.sessions (id, ${own}) SELECT $2, ${own} FROM ${SCHEMA}.sessions WHERE id = $1 RETURNING key),
      lived AS (INSERT INTO ${SCHEMA}.lives SELECT $3, incarnation FROM origin)
      ${copies.join('')}
    SELECT 1`;
}
