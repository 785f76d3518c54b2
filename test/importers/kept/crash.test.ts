/** Importers that are killed, that run at once, and that read while the agent writes (I1, D75). */
import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { memoryStore } from '../../../src/index.ts';
import type { Store } from '../../../src/ports/store.ts';
import { importTranscripts, restoreTranscript } from '../../../src/transcripts.ts';
import { type BundledScript, bundleScript } from '../../support/bundle.ts';
import { randomFrom, SEED } from '../../support/random.ts';
import { folder, write } from '../places.ts';
import { eventsOf, imported, openSqlite, prompt } from './support.ts';

const random = randomFrom(SEED);
let importer: BundledScript;
beforeAll(async () => {
  importer = await bundleScript(join(import.meta.dirname, 'import-child.ts'));
});
afterAll(() => importer.remove());

/** Lines that do not compress: a transaction holds few of them. */
function noise(session: string, lines: number): string {
  let seed = 7;
  const next = (): string => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed.toString(36);
  };
  return Array.from({ length: lines }, (_, n) => prompt(session, n, Array.from({ length: 600 }, next).join(''))).join(
    '',
  );
}

/** Sessions of one prompt each. */
function smallSessions(count: number): Readonly<Record<string, string>> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`s${n}.jsonl`, prompt(`s${n}`, 0)]));
}

/** The number of transactions in a write-ahead log of SQLite: the header of the last page of each has the size of the database. */
function commitsIn(path: string): number {
  const log = readFileSync(path);
  const frame = 24 + log.readUInt32BE(8);
  let commits = 0;
  for (let at = 32; at + frame <= log.length; at += frame) if (log.readUInt32BE(at + 4) > 0) commits++;
  return commits;
}

/** What an import leaves: the events without their times of commit. */
async function endState(store: Store): Promise<unknown> {
  const state = [];
  for (const { id } of await imported(store)) state.push([id, await eventsOf(store, id)]);
  return state;
}

/** Imports in a child process. With `reports` it is killed a moment after it has reported so often. */
async function importInChild(database: string, root: string, reports?: number): Promise<NodeJS.Signals | null> {
  const args = [database, root, ...(reports === undefined ? [] : [String(reports), String(random() * 4)])];
  const child = spawn(process.execPath, [importer.path, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.on('data', () => child.kill('SIGKILL'));
  return await new Promise((resolve) => child.on('close', (_, signal) => resolve(signal)));
}

test.for([
  {
    of: 'large sessions',
    files: { 'a.jsonl': noise('a', 900), 'b.jsonl': noise('b', 20), 'c.jsonl': noise('c', 400) },
    killedAfter: [[2], [4, 1]],
  },
  { of: 'small sessions, which share transactions', files: smallSessions(200), killedAfter: [[1], [130, 1]] },
])(
  'an importer of $of killed at any transaction leaves a log that the next import completes to the same end',
  async ({ files, killedAfter }) => {
    const root = write(folder(), files);
    const whole = memoryStore();
    await importTranscripts(whole, { paths: [root] });
    const expected = await endState(whole);
    for (const kills of killedAfter) {
      const database = join(folder(), 'killed.db');
      for (const reports of kills) expect(await importInChild(database, root, reports)).toBe('SIGKILL');
      const store = await openSqlite(database);
      const { problems } = await importTranscripts(store, { paths: [root] });
      expect(problems).toEqual([]);
      expect(await endState(store)).toEqual(expected);
      expect((await store.check()).problems).toEqual([]);
    }
  },
);

test('small sessions share transactions', async () => {
  const database = join(folder(), 'shared.db');
  const store = await openSqlite(database);
  const before = commitsIn(`${database}-wal`);
  const root = write(folder(), smallSessions(200));
  expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 200 });
  expect(commitsIn(`${database}-wal`) - before).toBeLessThan(10);
});

test('importers that run at once double nothing', async () => {
  const root = write(folder(), { 'a.jsonl': noise('a', 500), 'b.jsonl': noise('b', 100) });
  const database = join(folder(), 'two.db');
  const stores = [await openSqlite(database), await openSqlite(database)];
  await Promise.all([
    ...stores.map((store) => importTranscripts(store, { paths: [root] })),
    importInChild(database, root),
  ]);
  const [store] = stores;
  if (!store) throw new Error('no store');
  for (const name of ['a', 'b']) {
    const path = join(folder(), 'restored.jsonl');
    await restoreTranscript(store, `claude-sdk:${name}`, path);
    expect(readFileSync(path).equals(readFileSync(join(root, `${name}.jsonl`)))).toBe(true);
    const recorded = (await eventsOf(store, `claude-sdk:${name}`)).flatMap((event) =>
      event.type === 'source/recorded' ? [event.bytes] : [],
    );
    expect(recorded.reduce((sum, bytes) => sum + bytes, 0)).toBe(readFileSync(path).length);
  }
});

test('an import while the agent writes records a prefix, and the next one the rest', async () => {
  const store = await openSqlite();
  const root = write(folder(), { 's.jsonl': prompt('s', 0) });
  const path = join(root, 's.jsonl');
  for (let n = 1; n < 60; n++) {
    const line = prompt('s', n, 'x'.repeat(n * 50));
    const importing = importTranscripts(store, { paths: [root] });
    appendFileSync(path, line.slice(0, n));
    await new Promise((resolve) => setImmediate(resolve));
    appendFileSync(path, line.slice(n));
    if (n % 20 === 0) writeFileSync(path, readFileSync(path, 'utf8').replaceAll('x', 'y')); // rewritten while it is read
    await importing;
  }
  await importTranscripts(store, { paths: [root] });
  const restored = join(folder(), 's.jsonl');
  await restoreTranscript(store, 'claude-sdk:s', restored);
  expect(readFileSync(restored, 'utf8')).toBe(readFileSync(path, 'utf8'));
});

test('an aborted import resolves with what it did, and the next one does the rest', async () => {
  const store = memoryStore();
  const root = write(folder(), { 'a.jsonl': noise('a', 900), 'b.jsonl': noise('b', 100) });
  const aborter = new AbortController();
  const result = await importTranscripts(store, {
    paths: [root],
    signal: aborter.signal,
    onProgress: () => aborter.abort(),
  });
  expect(result).toMatchObject({ aborted: true, problems: [] });
  expect(result.bytes).toBeLessThan(statSync(join(root, 'a.jsonl')).size);
  await importTranscripts(store, { paths: [root] });
  const whole = memoryStore();
  await importTranscripts(whole, { paths: [root] });
  expect(await endState(store)).toEqual(await endState(whole));
});
