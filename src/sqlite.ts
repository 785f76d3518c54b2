/** `holdfast/sqlite`: conversations in one SQLite file, durable and shared by any number of processes. */
export { type SqliteStore, type SqliteStoreOptions, sqliteStore } from './stores/sqlite/sqlite-store.ts';
