import { HoldfastError } from '../../../core/errors.ts';
import { SEARCH_VERSION } from '../../search-text.ts';
import { log } from '../migrations/0001-log.ts';
import { usableByLayout2 } from '../migrations/0002-usable.ts';
import { summaryVersions } from '../migrations/0003-summary-versions.ts';
import type { PostgresDatabase, Sql } from './database.ts';

/** One step from a layout to the next. */
export interface Migration {
  sql(schema: string, partitions: number): string;
  /** The oldest layout whose Holdfast can still use the tables: a step that only adds leaves it where it was. */
  readonly usableFrom: number;
}

/** Every step, in order. The table `layout` says how many of them a schema has had. Each one from 2 on adds the function of its layout. */
export const MIGRATIONS: readonly Migration[] = [
  { sql: log, usableFrom: 1 },
  { sql: usableByLayout2, usableFrom: 1 },
  // A Holdfast of before would write a summary without what it names.
  { sql: summaryVersions, usableFrom: 3 },
];

/** The layout that this version of Holdfast reads and writes. */
export const LAYOUT_VERSION: number = MIGRATIONS.length;

/** The oldest server that has what the statements use. */
const OLDEST_SERVER = 140_000;
/** Two numbers that no other program locks: "hold", "fast". */
const LOCK = [0x686f6c64, 0x66617374] as const;

interface LayoutRow {
  readonly version: number;
  readonly usable_from: number;
  readonly search_version: number;
}

interface ServerRow {
  readonly version: string;
  readonly encoding: string;
  readonly commit: string;
  readonly standby: boolean;
}

/** The number of partitions of the log, if it is not one table. */
export interface PartitionOptions {
  readonly partitions?: number;
}

/** The first layout whose statements call a function; those of layout 1 read the table `layout`. */
const FIRST_FUNCTION = 2;

/**
 * A condition for every statement that writes to sessions: it fails when a newer Holdfast has changed the layout so that this one cannot
 * use it. A migration locks the tables `layout` and `sessions`, so that no statement runs between its steps.
 */
export function usable(database: PostgresDatabase): string {
  return `${database.table(`usable_by_${LAYOUT_VERSION}`)}()`;
}

/** Refuses a server that cannot hold a store. */
export async function checkServer(sql: Sql): Promise<void> {
  const [server] = await sql.query<ServerRow>({
    text: `SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding,
             current_setting('synchronous_commit') AS commit, pg_is_in_recovery() AS standby`,
  });
  if (!server) throw unsupported('the server has no version');
  if (Number(server.version) < OLDEST_SERVER) {
    const major = Math.floor(Number(server.version) / 10_000);
    throw unsupported(`the server is PostgreSQL ${major}; update it to ${OLDEST_SERVER / 10_000} or newer`);
  }
  if (server.encoding !== 'UTF8') {
    throw unsupported(`the database has the encoding ${server.encoding}; create one with the encoding UTF8`);
  }
  if (server.standby) {
    throw new HoldfastError(
      'STORE_READ_ONLY',
      'the server is a standby, which can only be read; connect to the primary',
    );
  }
  if (server.commit === 'off') {
    throw unsupported(
      'synchronous_commit is off, so a crash of the server loses acknowledged events; run: ALTER ROLE <role> SET synchronous_commit = on',
    );
  }
}

function unsupported(why: string): HoldfastError {
  return new HoldfastError('STORE_UNSUPPORTED', why);
}

/** What the schema has: undefined for none, or one that another program or an interrupted installation left empty. */
async function readLayout(sql: Sql, schema: string): Promise<LayoutRow | undefined> {
  const [{ exists } = { exists: false }] = await sql.query<{ readonly exists: boolean }>(
    { text: `SELECT to_regclass($1) IS NOT NULL AS exists` },
    [`"${schema}".layout`],
  );
  if (!exists) return undefined;
  const [row] = await sql.query<LayoutRow>({
    text: `SELECT version, usable_from, search_version FROM "${schema}".layout`,
  });
  return row;
}

/** Whether the schema has to be migrated. Throws `STORE_TOO_NEW` when this Holdfast cannot use it. */
export async function checkLayout(sql: Sql, schema: string): Promise<'outdated' | 'current'> {
  const layout = await readLayout(sql, schema);
  if (!layout) return 'outdated';
  if (layout.usable_from > LAYOUT_VERSION) throw tooNew(schema, layout.version);
  const isOutdated = layout.version < LAYOUT_VERSION || layout.search_version < SEARCH_VERSION;
  return isOutdated ? 'outdated' : 'current';
}

export function tooNew(schema: string, version: number): HoldfastError {
  return new HoldfastError(
    'STORE_TOO_NEW',
    `schema ${schema} has layout ${version} and this Holdfast knows ${LAYOUT_VERSION}; update Holdfast in this process`,
  );
}

/** What `migrate` did. */
export interface Migrated {
  /** The layout before; 0 when there was none. */
  readonly from: number;
  readonly to: number;
}

/**
 * Brings a schema to the present layout in one transaction: a process that is killed in the middle leaves nothing. Several may call
 * it at once: one migrates, the others wait and find the work done.
 */
export async function migrate(
  database: PostgresDatabase,
  { partitions = 0 }: PartitionOptions = {},
  steps: readonly Migration[] = MIGRATIONS,
): Promise<Migrated> {
  const { schema } = database;
  return database.transaction(async (sql) => {
    // Of the transaction, not of the connection: a pooling proxy gives the connection to others.
    await sql.query({ text: `SELECT pg_advisory_xact_lock(${LOCK[0]}, ${LOCK[1]})` });
    await sql.query({ text: `CREATE SCHEMA IF NOT EXISTS "${schema}"` });
    const before = await readLayout(sql, schema);
    if (before && before.usable_from > steps.length) throw tooNew(schema, before.version);
    const from = before?.version ?? 0;
    const tables = from < steps.length && from > 0 ? ['sessions', 'layout'] : ['layout'];
    if (!before) await sql.query({ text: createLayout(schema) });
    for (const table of tables) await sql.query({ text: `LOCK TABLE "${schema}".${table} IN ACCESS EXCLUSIVE MODE` });
    for (const step of steps.slice(from)) await sql.query({ text: step.sql(schema, partitions) });
    if (before && before.search_version < SEARCH_VERSION) await sql.query({ text: reindex(schema) });
    const to = Math.max(from, steps.length);
    const usableFrom = Math.max(before?.usable_from ?? 1, ...steps.slice(from).map((step) => step.usableFrom));
    for (let layout = FIRST_FUNCTION; layout < usableFrom; layout++) {
      await sql.query({ text: `DROP FUNCTION IF EXISTS "${schema}".usable_by_${layout}()` });
    }
    await sql.query({
      text: `UPDATE "${schema}".layout SET version = ${to}, usable_from = ${usableFrom},
               search_version = greatest(search_version, ${SEARCH_VERSION})`,
    });
    return { from, to };
  });
}

function createLayout(schema: string): string {
  return `CREATE TABLE "${schema}".layout (
      version integer NOT NULL, usable_from integer NOT NULL, search_version integer NOT NULL);
    INSERT INTO "${schema}".layout VALUES (0, 1, ${SEARCH_VERSION})`;
}

/** Another version of Holdfast cut words differently: its index is filled again. */
function reindex(schema: string): string {
  return `TRUNCATE "${schema}".search; UPDATE "${schema}".sessions SET indexed_seq = 0, unindexed = true WHERE indexed_seq > 0`;
}

/**
 * Whether a proxy gives each transaction another connection to the server. While a second connection is in a transaction, the first
 * one keeps its server process only if the process is its own.
 */
export async function isTransactionPooled(database: PostgresDatabase): Promise<boolean> {
  const pid = async (sql: Sql): Promise<unknown> => {
    const [row] = await sql.query<{ readonly pid: number }>({ text: 'SELECT pg_backend_pid() AS pid' });
    return row?.pid;
  };
  return database.retrying(() =>
    database.withClient(async (first) => {
      const before = await pid(first);
      return database.tryTransaction(async (second) => {
        const other = await pid(second);
        return other === before || (await pid(first)) !== before;
      });
    }),
  );
}
