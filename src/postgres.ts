/** `holdfast/postgres`: conversations in a PostgreSQL database, shared by any number of machines. Needs the package `pg`. */
export {
  type PostgresStore,
  type PostgresStoreOptions,
  postgresStore,
} from './stores/postgres/postgres-store.ts';
