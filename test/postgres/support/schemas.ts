import { inject } from 'vitest';
import { type PostgresStore, type PostgresStoreOptions, postgresStore } from '../../../src/postgres.ts';
import { queryOnce } from './server.ts';

let count = 0;

/** A schema that no other test uses. */
export function newSchema(): string {
  return `t${process.pid}_${Date.now().toString(36)}_${count++}`;
}

/** The address of the server that all files share. */
export function databaseUrl(): string {
  return inject('databaseUrl');
}

/** A store in a schema of its own, unless one is named. */
export function openStore(options: PostgresStoreOptions = {}): Promise<PostgresStore> {
  return postgresStore(databaseUrl(), { schema: newSchema(), maxConnections: 4, ...options });
}

/** Removes a schema with everything in it. */
export async function dropSchema(schema: string): Promise<void> {
  await queryOnce(databaseUrl(), `DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
}
