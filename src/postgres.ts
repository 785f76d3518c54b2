/** `holdfast/postgres`: conversations in a PostgreSQL database, shared by any number of machines. Needs the package `pg`. */
export type { AppendJoin, AppendTransaction, JoinedAppend } from './stores/postgres/append-joins.ts';
export type { PgClient, PgPool, PgQuery, PgResult } from './stores/postgres/pg.ts';
export {
  type PostgresSettings,
  type PostgresStore,
  type PostgresStoreOptions,
  postgresStore,
} from './stores/postgres/postgres-store.ts';
export type { WorkOptions } from './stores/postgres/rows/session-list.ts';
