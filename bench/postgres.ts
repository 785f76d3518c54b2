/**
 * The cost of durability on PostgreSQL: the store compared with plain inserts by `pg`, the loop compared with LangGraph's
 * saver, and workers compared with pg-boss alone.
 */
import { PostgresServer } from '../test/postgres/support/server.ts';
import type { Section } from './figure.ts';
import { appends } from './postgres/appends.ts';
import { turns } from './postgres/turns.ts';
import { workers } from './postgres/workers.ts';

const NAME = 'postgres';

export const section: Section = {
  name: NAME,
  about: 'PostgreSQL with fsync, on this machine; the server of DATABASE_URL if it is set',
  async *run() {
    const given = process.env.DATABASE_URL;
    const server = given === undefined ? await PostgresServer.start(['max_connections=100']) : undefined;
    try {
      const url = given ?? server?.url ?? '';
      yield* appends(NAME, url);
      yield* turns(NAME, url);
      yield* workers(NAME, url);
    } finally {
      await server?.stop();
    }
  },
};
