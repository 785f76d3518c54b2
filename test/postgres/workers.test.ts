/** Workers on PostgreSQL with pg-boss as the doorbell: rings, failover, and chaos with a database that restarts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setImmediate } from 'node:timers/promises';
import { PgBoss } from 'pg-boss';
import { expect, onTestFinished, test } from 'vitest';
import { openSession } from '../../src/index.ts';
import { type PostgresStore, postgresStore } from '../../src/postgres.ts';
import { createWorker, pgBossDoorbell } from '../../src/worker.ts';
import { SEED } from '../support/random.ts';
import { postgresRound } from '../worker/chaos/postgres.ts';
import { echoing, isCompleted, untilSession } from '../worker/support.ts';
import { databaseUrl, dropSchema, newSchema } from './support/schemas.ts';
import { queryOnce } from './support/server.ts';

/** `CHAOS_SESSIONS` sets another number for a quick run. */
const SESSIONS = Number(process.env.CHAOS_SESSIONS ?? 200);

async function opened(
  url: string,
  schema = newSchema(),
): Promise<{ readonly store: PostgresStore; readonly schema: string }> {
  const store = await postgresStore(url, { schema, maxConnections: 6 });
  return { store, schema };
}

test('an append that gives a session work enqueues one job in its own transaction, and a rejected append none', async () => {
  const { store, schema } = await opened(databaseUrl());
  const boss = `${schema}_boss`;
  const doorbell = await pgBossDoorbell(store, databaseUrl(), { schema: boss });
  onTestFinished(async () => {
    await doorbell.close();
    await store.close();
    await dropSchema(schema);
    await dropSchema(boss);
  });
  const jobs = async (): Promise<readonly unknown[]> =>
    (
      await queryOnce(
        databaseUrl(),
        `SELECT data->>'sessionId' AS id FROM "${boss}".job WHERE name = 'holdfast' ORDER BY 1`,
      )
    ).map(({ id }) => id);
  const session = await openSession({ store, id: 'a' });
  await session.describe({ title: 'No work' });
  expect(await jobs()).toEqual([]);
  await session.send('Hello');
  await session.send('Hello again');
  expect(await jobs()).toEqual(['a']);
  const queued = {
    type: 'input/queued',
    at: new Date().toISOString(),
    inputId: 'x',
    mode: 'next',
    content: [],
  } as const;
  await expect(store.append('b', [queued], { id: 'x', expectedSeq: 7 })).rejects.toMatchObject({
    code: 'SESSION_CONFLICT',
  });
  expect(await jobs()).toEqual(['a']);
});

test('a worker runs what pg-boss rings for, and without the bell what its searches find', async () => {
  const { store, schema } = await opened(databaseUrl());
  const boss = `${schema}_boss`;
  const doorbell = await pgBossDoorbell(store, databaseUrl(), { schema: boss });
  const rung = createWorker({ store, agents: echoing, doorbell, pollMs: 3_600_000 });
  onTestFinished(async () => {
    await rung.stop();
    await doorbell.close();
    await store.close();
    await dropSchema(schema);
    await dropSchema(boss);
  });
  rung.start();
  const session = await openSession({ store, id: 'rung' });
  await session.send('Hello');
  await untilSession(store, 'rung', isCompleted);
  expect(rung.stats().counts).toMatchObject({ searches: 1, failures: 0 });
  await rung.stop();
  // Every job is lost: the log is the queue.
  await (await openSession({ store, id: 'lost' })).send('Hello');
  await queryOnce(databaseUrl(), `DELETE FROM "${boss}".job`);
  const searching = createWorker({ store, agents: echoing, pollMs: 20, doorbell });
  searching.start();
  await untilSession(store, 'lost', isCompleted);
  await searching.stop();
});

test('an error event of pg-boss reaches onError as an Error, and ends no process although onError throws', async () => {
  const { store, schema } = await opened(databaseUrl());
  const boss = new PgBoss({ connectionString: databaseUrl(), schema: `${schema}_boss`, useListenNotify: false });
  await boss.start();
  const errors: unknown[] = [];
  const warnings: Error[] = [];
  const keep = (warning: Error): void => void warnings.push(warning);
  process.on('warning', keep);
  const onError = (error: unknown): never => {
    errors.push(error);
    throw new Error('onError is broken');
  };
  const doorbell = await pgBossDoorbell(store, boss, { onError });
  onTestFinished(async () => {
    process.off('warning', keep);
    await doorbell.close();
    await boss.stop({ graceful: false });
    await store.close();
    await dropSchema(schema);
    await dropSchema(`${schema}_boss`);
  });
  boss.emit('error', new Error('cut'));
  boss.emit('error', { message: 'refused', queue: 'holdfast' } as unknown as Error); // as its workers do
  expect(errors).toMatchObject([new Error('cut'), { message: 'refused', queue: 'holdfast' }]);
  expect(errors.every((error) => error instanceof Error)).toBe(true);
  while (warnings.length < 2) await setImmediate();
  expect(warnings.map(({ message }) => message)).toEqual(['onError is broken', 'onError is broken']);
});

test('a session whose worker is killed runs elsewhere when its lease has expired', { timeout: 300_000 }, async () => {
  const leaseMs = 2000;
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-failover-'));
  const { store, schema } = await opened(databaseUrl());
  const script = join(import.meta.dirname, '../worker/chaos/process.ts');
  const start = async (): Promise<{ readonly kill: () => void }> => {
    const args = ['postgres', databaseUrl(), schema, join(directory, 'effects.log'), String(leaseMs), '2000'];
    const child = spawn(process.execPath, ['--no-warnings', script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const lines = createInterface(child.stdout);
    await once(lines, 'line');
    return { kill: () => child.kill('SIGKILL') };
  };
  onTestFinished(async () => {
    await store.close();
    await dropSchema(schema);
    await dropSchema(`${schema}_boss`);
    rmSync(directory, { recursive: true, force: true });
  });
  const first = await start();
  const session = await openSession({ store, id: 'a' });
  await session.send('task');
  await untilSession(store, 'a', ({ state }) => state.record.toolStarts.length > 0);
  const before = await store.readLease('a');
  await start();
  const killed = performance.now();
  first.kill();
  const watched = await openSession({ store, id: 'a' });
  let after = await store.readLease('a');
  for await (const { type } of watched.events({ live: true, from: watched.seq + 1 })) {
    after = await store.readLease('a');
    if (type === 'evaluation/resumed') break;
  }
  const took = performance.now() - killed;
  console.log(
    `failover: ${Math.round(took)} ms with a lease of ${leaseMs} ms (${(took / leaseMs).toFixed(2)} × the lease)`,
  );
  expect(after?.holder.pid).not.toBe(before?.holder.pid);
  expect(after?.fence).toBeGreaterThan(before?.fence ?? 0);
});

test('I2, I3: workers, connections and the database die at random, and every conversation equals the undisturbed one', {
  timeout: 1_800_000,
}, async () => {
  const report = await postgresRound({ seed: SEED, sessions: SESSIONS, print: console.log });
  expect(report.wrong).toEqual([]);
  expect(report.takeovers).toBeGreaterThan(0);
  for (const kind of ['kill', 'stop', 'add', 'cut', 'restart']) expect(report.counts[kind]).toBeGreaterThan(0);
});
