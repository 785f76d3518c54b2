/** The lock of the example store, which docs/writing-a-store.md offers for copying. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { lockFile } from '../../examples/json-store/file-lock.ts';
import { bootId } from '../../src/store.ts';
import { ROOT } from '../support/documents.ts';

const directory = mkdtempSync(join(tmpdir(), 'holdfast-lock-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const sources = pathToFileURL(join(ROOT, 'examples/use-sources.ts')).href;
const user = join(import.meta.dirname, 'support/lock-user.ts');

/** Runs a process that adds to the number of a file, or that dies with the lock. */
function use(path: string, times: number): Promise<NodeJS.Signals | number | null> {
  const child = spawn(process.execPath, ['--no-warnings', '--import', sources, user, path, String(times)], {
    stdio: 'inherit',
  });
  return new Promise((resolve) => child.on('close', (code, signal) => resolve(signal ?? code)));
}

/** Leaves the lock of a process that has ended. */
function leaveLock(path: string, fields: object = {}): void {
  const { pid } = spawnSync(process.execPath, ['--version']);
  writeFileSync(path, JSON.stringify({ id: 'dead', host: hostname(), boot: bootId(), pid, ...fields }));
}

test('the lock of a dead process is broken, and one caller at a time gets it', async () => {
  const path = join(directory, 'dead');
  leaveLock(path);
  leaveLock(`${path}.break`); // a second process died while it broke the lock of the first
  let holders = 0;
  const turns = Array.from({ length: 20 }, async () => {
    const unlock = await lockFile(path);
    expect(++holders).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    holders--;
    unlock();
  });
  await Promise.all(turns);
  expect(readdirSync(directory).filter((name) => name.startsWith('dead'))).toEqual([]);
});

test('processes that die with the lock do not let two others in', async () => {
  const path = join(directory, 'counter');
  writeFileSync(path, '0');
  const outcomes = await Promise.all([use(path, 200), use(path, 200), use(path, 0), use(path, 0), use(path, 0)]);
  expect(outcomes).toEqual([0, 0, 'SIGKILL', 'SIGKILL', 'SIGKILL']);
  expect(readFileSync(path, 'utf8')).toBe('400');
});

test.for([
  ['another machine', { host: 'elsewhere' }],
  ['a running process', { pid: process.pid }],
] as const)('the lock of %s is not broken', async ([, fields]) => {
  const path = join(directory, 'live');
  leaveLock(path, fields);
  let isHeld = false;
  const locked = lockFile(path).then((unlock) => {
    isHeld = true;
    unlock();
  });
  for (let turn = 0; turn < 1000; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(isHeld).toBe(false);
  rmSync(path); // its holder ends it
  await locked;
});
