/** The programs of "Many machines" in docs/workers.md run as written: agent.mts as a worker, send.mts beside it. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { programIn, ROOT, withSources } from '../support/documents.ts';
import { PostgresServer } from './support/server.ts';

test('two workers of docs/workers.md and a sender in another process', { timeout: 120_000 }, async () => {
  const server = await PostgresServer.start();
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-workers-page-'));
  for (const file of ['agent.mts', 'send.mts'])
    writeFileSync(join(directory, file), withSources(programIn('docs/workers.md', file)));
  const env = { ...process.env, DATABASE_URL: server.url };
  const command = ['--no-warnings', join(ROOT, 'src/cli/holdfast.ts'), 'worker', 'agent.mts'];
  const workers = [1, 2].map(() =>
    spawn(process.execPath, command, { cwd: directory, env, stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  onTestFinished(async () => {
    for (const worker of workers) worker.kill('SIGKILL');
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  await Promise.all(workers.map((worker) => once(createInterface(worker.stdout), 'line')));
  const printed = execFileSync(process.execPath, ['--no-warnings', 'send.mts'], {
    cwd: directory,
    env,
    encoding: 'utf8',
  });
  expect(printed).toBe('completed\n');
  for (const worker of workers) {
    worker.kill('SIGTERM');
    expect(await once(worker, 'exit')).toEqual([0, null]);
  }
});
