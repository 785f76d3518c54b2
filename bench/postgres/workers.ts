/**
 * A backlog of sessions, each with one input and one response of a scripted model, worked off by 1, 2 and 4 worker processes; and as many
 * empty jobs, worked off by as many processes with pg-boss alone.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { openSession } from '../../src/index.ts';
import { postgresStore } from '../../src/postgres.ts';
import { timed } from '../append/workload.ts';
import { type Figure, info } from '../figure.ts';
import { QUEUE } from './worker-settings.ts';

const SCHEMA = 'holdfast_bench_workers';
const BACKLOG = 600;
const PROCESSES = [1, 2, 4] as const;
/** How often the progress is looked at: looking must not be a part of what is measured. */
const LOOK_MS = 25;

type Kind = 'holdfast' | 'pg-boss';
type Child = ChildProcessByStdio<Writable, Readable, null>;

interface Measured {
  /** Sessions or jobs per second. */
  readonly rate: number;
  readonly connections: number;
}

/** The figures of workers. */
export async function* workers(section: string, url: string): AsyncIterable<Figure> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  const count = async (sql: string): Promise<number> => Number((await client.query(sql)).rows[0]?.count);
  try {
    for (const processes of PROCESSES) {
      for (const schema of [SCHEMA, `${SCHEMA}_boss`]) await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      const left = `SELECT count(*) FROM ${SCHEMA}.sessions WHERE status IS DISTINCT FROM 'completed'`;
      await queueSessions(url);
      const own = await measure('holdfast', processes, url, () => count(left), count);
      await client.query(`DROP SCHEMA ${SCHEMA} CASCADE`);
      await queueJobs(url);
      const jobs = `SELECT count(*) FROM ${SCHEMA}.job WHERE name = '${QUEUE}' AND state < 'completed'`;
      const other = await measure('pg-boss', processes, url, () => count(jobs), count);
      yield info(
        section,
        `${processes} worker processes: sessions per second`,
        own.rate,
        `${own.connections} connections; pg-boss alone: ${Math.round(other.rate)} empty jobs per second, ${other.connections} connections`,
      );
    }
  } finally {
    for (const schema of [SCHEMA, `${SCHEMA}_boss`]) await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await client.end();
  }
}

async function queueSessions(url: string): Promise<void> {
  const store = await postgresStore(url, { schema: SCHEMA, backgroundIndexing: false });
  await Promise.all(
    Array.from({ length: BACKLOG }, async (_, n) => {
      const session = await openSession({ store, id: `s${n}` });
      await session.send('Hello');
      await session.close();
    }),
  );
  await store.close();
}

async function queueJobs(url: string): Promise<void> {
  const boss = new PgBoss({ connectionString: url, schema: SCHEMA, useListenNotify: false });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  await boss.createQueue(QUEUE);
  await boss.insert(
    QUEUE,
    Array.from({ length: BACKLOG }, (_, n) => ({ data: { n } })),
  );
  await boss.stop({ graceful: false });
}

async function measure(
  kind: Kind,
  processes: number,
  url: string,
  left: () => Promise<number>,
  count: (sql: string) => Promise<number>,
): Promise<Measured> {
  const clients = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'";
  const before = await count(clients);
  const children = await Promise.all(Array.from({ length: processes }, () => start(kind, url)));
  try {
    let connections = 0;
    const ms = await timed(async () => {
      for (const { stdin } of children) stdin.write('go\n');
      while ((await left()) > 0) {
        connections = Math.max(connections, (await count(clients)) - before);
        await setTimeout(LOOK_MS);
      }
    });
    return { rate: (BACKLOG * 1000) / ms, connections };
  } finally {
    await Promise.all(children.map(end));
  }
}

async function start(kind: Kind, url: string): Promise<Child> {
  const script = join(import.meta.dirname, 'worker-process.ts');
  const child = spawn(process.execPath, ['--no-warnings', script, kind, url, SCHEMA], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ready = once(createInterface(child.stdout), 'line');
  await Promise.race([
    ready,
    once(child, 'exit').then(([code]) => {
      throw new Error(`a process of the benchmark ended with ${code} before it was ready`);
    }),
  ]);
  return child;
}

async function end(child: Child): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
