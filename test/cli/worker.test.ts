/** `holdfast worker`: runs a module's worker until a signal, and drains. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { openSession } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { isCompleted, untilSession } from '../worker/support.ts';

test('holdfast worker runs sessions, serves its health, and after SIGTERM drains, closes and exits with 0', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-cli-worker-'));
  const file = join(directory, 'agent.db');
  const store = await sqliteStore(file);
  const args = ['--no-warnings', join(import.meta.dirname, '../../src/cli/holdfast.ts'), 'worker'];
  const child = spawn(process.execPath, [...args, join(import.meta.dirname, 'worker-options.ts'), '--port', '0'], {
    env: { ...process.env, WORKER_DATABASE: file },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const exited = once(child, 'exit');
  const lines: string[] = [];
  const printed = createInterface(child.stdout).on('line', (line) => lines.push(line));
  await once(printed, 'line');
  const [, url = ''] = /health is at (\S+)/.exec(lines[0] ?? '') ?? [];
  const session = await openSession({ store, id: 'a' });
  await session.send('Hello');
  await untilSession(store, 'a', isCompleted);
  const health = await fetch(url);
  expect([health.status, await health.json()]).toEqual([
    200,
    expect.objectContaining({ status: 'ok', state: 'running' }),
  ]);
  expect((await fetch(url.replace('/health', '/ready'))).status).toBe(200);
  expect(await (await fetch(url.replace('/health', '/stats'))).json()).toMatchObject({ counts: { failures: 0 } });
  expect((await fetch(url.replace('/health', '/other'))).status).toBe(404);
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
  expect(lines.slice(1)).toEqual([expect.stringContaining('stopped; runs: 1, failures: 0'), 'closed']);
});

test.for([
  [[], 'the module is missing'],
  [['nothing.mjs', '--concurrency', 'many'], '--concurrency takes a whole number'],
] as const)('holdfast worker %o exits with 1: %s', async ([args, message]) => {
  const errors: string[] = [];
  const before = console.error;
  console.error = (line: string) => void errors.push(line);
  onTestFinished(() => {
    console.error = before;
  });
  expect(await main(['worker', ...args])).toBe(1);
  expect(errors.join('\n')).toContain(message);
});

test('a module without options exits with 1 and says what it should export', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-cli-worker-'));
  const file = join(directory, 'empty.mjs');
  writeFileSync(file, 'export const nothing = 1;\n');
  const errors: string[] = [];
  const before = console.error;
  console.error = (line: string) => void errors.push(line);
  onTestFinished(() => {
    console.error = before;
    rmSync(directory, { recursive: true, force: true });
  });
  expect(await main(['worker', file])).toBe(1);
  expect(errors.join('\n')).toContain('no default export with the options of createWorker');
});
