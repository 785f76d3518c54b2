import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { openSession } from '../../src/index.ts';
import { untilSession } from '../worker/support.ts';
import { eventsOf } from './support/logs.ts';
import { databaseUrl, dropSchema, newSchema, openStore } from './support/schemas.ts';

interface WorkerProcess {
  readonly process: ChildProcess;
  /** The lines that it has printed. */
  readonly said: readonly string[];
  /** Resolves when it has printed a line. */
  says(line: string): Promise<void>;
}

function startWorker(schema: string): WorkerProcess {
  const script = join(import.meta.dirname, 'support/paying-worker.ts');
  const child = spawn(process.execPath, ['--no-warnings', script, databaseUrl(), schema, '1500'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said: string[] = [];
  const lines = createInterface(child.stdout);
  lines.on('line', (line) => said.push(line));
  const says = async (line: string): Promise<void> => {
    while (!said.includes(line)) await once(lines, 'line');
  };
  return { process: child, said, says };
}

test('I2, I3: a worker that is stopped inside a once tool past its lease, and woken, adds nothing, and the tool does not run again', async () => {
  const schema = newSchema();
  const store = await openStore({ schema });
  onTestFinished(async () => {
    await store.close();
    await dropSchema(schema);
  });
  const first = startWorker(schema);
  await (await openSession({ store, id: 's' })).send('Pay');
  await first.says('paying');
  const { fence = 0 } = (await store.readLease('s')) ?? {};
  first.process.kill('SIGSTOP');
  const second = startWorker(schema);
  await untilSession(store, 's', ({ summary }) => summary?.status === 'suspended');
  const before = await eventsOf(store, 's');
  // It believes that it has the session, and gets the result of its tool.
  first.process.kill('SIGCONT');
  first.process.stdin?.write('go\n');
  await first.says('paid');
  const exited = once(first.process, 'exit');
  first.process.kill('SIGTERM');
  await exited;
  expect(await eventsOf(store, 's')).toEqual(before);
  expect([...first.said, ...second.said].filter((line) => line === 'paying')).toHaveLength(1);
  const late = { type: 'note/added', at: '2026-01-01T00:00:00.000Z' } as const;
  const zombie = store.append('s', [late], { id: 'late', expectedSeq: before.length, fence });
  await expect(zombie).rejects.toMatchObject({ code: 'SESSION_CONFLICT', detail: 'fence' });
});
