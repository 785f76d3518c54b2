/** One PostgreSQL for all files: the one that `DATABASE_URL` names, or one that starts here. */
import type { TestProject } from 'vitest/node';
import { PostgresServer } from './server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    readonly databaseUrl: string;
  }
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.DATABASE_URL;
  const server = given === undefined ? await PostgresServer.start(['max_connections=200', 'fsync=off']) : undefined;
  project.provide('databaseUrl', given ?? server?.url ?? '');
  return async () => server?.stop();
}
