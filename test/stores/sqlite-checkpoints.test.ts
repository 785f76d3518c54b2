/** Checkpoints of a long deletion or fork: made between two slices, by a thread that ends with the work. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Database } from '../../src/stores/sqlite/driver.ts';
import { note, openStore, said, temporaryDatabase } from './support/temporary.ts';
import { traceCommits } from './support/traced-commits.ts';

const LENGTH = 30_000;
const worker = join(import.meta.dirname, 'support', 'long-worker.ts');
/** Without checkpoints the log grows to 1,000 pages of 4 kB before SQLite makes one. */
const MAX_LOG_BYTES = 2_000_000;

async function longDatabase(): Promise<string> {
  const path = temporaryDatabase();
  const store = await openStore(path, { backgroundIndexing: false });
  for (let seq = 0; seq < LENGTH; seq += 1000) {
    const events = Array.from({ length: 1000 }, (_, i) => said(`word ${seq + i} ${'x'.repeat(100)}`));
    await store.append('long', events, { id: `a${seq}`, expectedSeq: seq });
  }
  await store.close();
  return path;
}

/** Records the checkpoints that this thread makes. */
function traceCheckpoints(): readonly string[] {
  const made: string[] = [];
  const { pragma } = Database.prototype;
  Database.prototype.pragma = function (this: Database, sql: string) {
    if (sql.startsWith('wal_checkpoint')) made.push(sql);
    return pragma.call(this, sql);
  };
  onTestFinished(() => {
    Database.prototype.pragma = pragma;
  });
  return made;
}

test('a thread empties the write-ahead log between the slices of a fork and of a deletion', async () => {
  const path = await longDatabase();
  const here = traceCheckpoints();
  let commits = 0;
  let largest = 0;
  onTestFinished(
    traceCommits({
      after() {
        commits++;
        largest = Math.max(largest, statSync(`${path}-wal`).size);
      },
    }),
  );
  const store = await openStore(path, { backgroundIndexing: false });
  await store.forkSession('long', 'fork', { at: LENGTH, events: [note('end')] });
  expect(here).toEqual([]);
  await store.deleteSession('long');
  expect(here).toEqual(['wal_checkpoint(TRUNCATE)']);
  expect(commits).toBeGreaterThan((2 * LENGTH) / 2000);
  expect(largest).toBeLessThan(MAX_LOG_BYTES);
  expect(await store.check()).toMatchObject({ ok: true, sessions: 1, events: LENGTH + 1 });
});

/** Runs Node and returns what it printed and its exit code. */
async function runNode(...args: string[]): Promise<readonly [output: string, code: unknown]> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => {
      output += data;
    });
  }
  const [code] = await once(child, 'close');
  return [output, code];
}

test('if the runtime allows no threads, a deletion makes its checkpoints itself', async () => {
  const path = await longDatabase();
  const permitted = ['--permission', '--allow-fs-read=*', '--allow-fs-write=*'];
  const [output, code] = await runNode(...permitted, worker, path, 'delete', '1000000');
  expect([output, code]).toEqual([expect.stringMatching(/done after \d+ commits/), 0]);
  const store = await openStore(path, { backgroundIndexing: false });
  expect(await store.check()).toMatchObject({ ok: true, sessions: 0, events: 0 });
});

test.for([
  ['has ended', 'await store.deleteSession("long"); console.log("deleted");', 'deleted\n', 0],
  [
    'is cut off by close',
    'void store.deleteSession("long"); await store.close(); console.log("closed")',
    'closed\n',
    0,
  ],
] as const)('the process ends by itself after a deletion that %s', async ([, work, printed, status]) => {
  const path = await longDatabase();
  const source = join(import.meta.dirname, '../../src/stores/sqlite/sqlite-store.ts');
  const program = `import { sqliteStore } from ${JSON.stringify(source)};
    const store = await sqliteStore(${JSON.stringify(path)}, { backgroundIndexing: false });
    ${work}`;
  expect(await runNode('--input-type=module', '-e', program)).toEqual([printed, status]);
});

test('a store that is closed during a deletion leaves the rest to the next one', async () => {
  const path = await longDatabase();
  const store = await openStore(path, { backgroundIndexing: false });
  const deletion = store.deleteSession('long');
  await store.close();
  expect(await deletion).toBe(true);
  const next = await openStore(path, { backgroundIndexing: false });
  expect(await next.head('long')).toMatchObject({ incarnation: 2, seq: 0 });
  await expect.poll(() => rowsLeft(path), { timeout: 20_000 }).toBe(0);
});

function rowsLeft(path: string): number | undefined {
  const database = new Database(path, { readOnly: true, timeoutMs: 5000 });
  try {
    return database.prepareValue<[], number>('SELECT count(*) FROM events').get();
  } finally {
    database.close();
  }
}
