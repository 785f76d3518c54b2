/** A tool that ends its process, again and again. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { definePrompt } from '../../src/evaluate.ts';
import { createAgent, defineTool, memoryStore, type NewEvent, openSession, scriptedModel } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { listRuns } from '../../src/worker.ts';
import { isCompleted, send, untilSession, work } from './support.ts';

test('a session that kills each of its workers is suspended after maxAttempts of them, and a person lets it run again', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-died-'));
  const file = join(directory, 'agent.db');
  const store = await sqliteStore(file);
  onTestFinished(async () => {
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  await send(store, 'deadly');
  /** A worker process, until it is killed by the tool or has given up. */
  const runWorker = async (): Promise<unknown> => {
    const script = join(import.meta.dirname, 'deadly-worker.ts');
    const child = spawn(process.execPath, ['--no-warnings', script, file], { stdio: ['ignore', 'inherit', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [code, signal] = await once(child, 'exit');
    return signal ?? code;
  };
  expect([await runWorker(), await runWorker(), await runWorker(), await runWorker()]).toEqual([
    'SIGKILL',
    'SIGKILL',
    'SIGKILL',
    0,
  ]);
  const [suspended] = (await listRuns(store)).suspended;
  expect(suspended).toMatchObject({ sessionId: 'deadly', attempts: 3, error: { code: 'EVALUATION_FAILED' } });
  expect(suspended?.error.message).toContain('after it had started crash');
  const session = await openSession({ store, id: 'deadly' });
  expect(session.summary).toMatchObject({ status: 'suspended' });
  await session.resume({ by: 'Ann' });
  expect(await runWorker()).toBe('SIGKILL');
});

test('a session whose runners died twice rests for a second, and runs then', async () => {
  const { promise: isStarted, resolve: start } = Promise.withResolvers<void>();
  const build = defineTool({
    name: 'build',
    description: 'Builds',
    input: z.object({}),
    effect: 'idempotent',
    execute: async (_, { attempt, signal }) => {
      if (attempt > 1) return 'built';
      start();
      return new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  });
  const prompt = definePrompt({ ns: 'test', key: 'build', instructions: 'Build.', tools: [build] });
  const model = scriptedModel([{ toolCalls: [{ name: 'build', arguments: {} }] }, 'Done.']);
  const agents = () => createAgent({ model, prompt });
  // The log that a process leaves which dies in its tool, in a store where it holds no lease.
  const first = work({ agents });
  await send(first.store, 'a');
  await isStarted;
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const log: NewEvent[] = [];
  for await (const { seq: _, ...event } of first.store.read('a')) log.push(event as NewEvent);
  const started = log.find(({ type }) => type === 'evaluation/started') as unknown as { readonly evaluationId: string };
  const { evaluationId } = started;
  const resumed = { type: 'evaluation/resumed', at: new Date().toISOString(), evaluationId, attempt: 2, by: 'another' };
  await store.append('a', [...log, resumed as NewEvent], { id: 'copy', expectedSeq: 0 });

  const { worker, errors } = work({ store, clock, agents });
  while (worker.status('a')?.state !== 'failed') await setImmediate();
  expect(worker.status('a')).toMatchObject({ retryAt: new Date(clock.now() + 1000).toISOString() });
  expect(errors).toMatchObject([{ code: 'EVALUATION_FAILED', count: 2 }]);
  clock.advance(1000);
  await untilSession(store, 'a', isCompleted);
  expect(errors).toHaveLength(1);
});
