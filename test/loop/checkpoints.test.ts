import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { fileCheckpoints } from '../../src/evaluate.ts';
import { memoryStore, openSession, type Snapshot } from '../../src/index.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-checkpoints-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
});

async function snapshot(title: string): Promise<Snapshot> {
  const session = await openSession({ store: memoryStore(), id: 's' });
  await session.describe({ title });
  return session.snapshot();
}

describe('fileCheckpoints', () => {
  test('loads the saved checkpoint, replaces it atomically, and clears it', async () => {
    const checkpoints = fileCheckpoints<string>(join(dir, 'a', 'b'));
    expect(await checkpoints.load('r')).toBeUndefined();
    await checkpoints.clear('r'); // clearing a missing one is no error
    for (const title of ['one', 'two']) {
      await checkpoints.save('r', await snapshot(title));
      expect(JSON.parse(String(await checkpoints.load('r')))).toMatchObject({ summary: { title } });
    }
    expect(readdirSync(join(dir, 'a', 'b'))).toEqual(['r.json']);
    await checkpoints.clear('r');
    expect(await checkpoints.load('r')).toBeUndefined();
  });

  test('a crash between writing and replacing leaves the old one intact', async () => {
    const checkpoints = fileCheckpoints<string>(dir);
    await checkpoints.save('r', await snapshot('old'));
    // The file that a process leaves when it is killed while it writes.
    writeFileSync(join(dir, 'r.json.999-1.tmp'), '{"format":"holdfast-snap');
    expect(JSON.parse(String(await checkpoints.load('r')))).toMatchObject({ summary: { title: 'old' } });
    await checkpoints.save('r', await snapshot('new'));
    expect(JSON.parse(String(await checkpoints.load('r')))).toMatchObject({ summary: { title: 'new' } });
  });

  test('never writes into the visible file: it is replaced by rename', async () => {
    const checkpoints = fileCheckpoints<string>(dir);
    await checkpoints.save('r', await snapshot('old'));
    const reader = await open(join(dir, 'r.json'));
    await checkpoints.save('r', await snapshot('a much longer title than before'));
    expect(JSON.parse(await reader.readFile('utf8'))).toMatchObject({ summary: { title: 'old' } });
    await reader.close();
  });

  test('concurrent saves do not mix', async () => {
    const checkpoints = fileCheckpoints<string>(dir);
    const titles = Array.from({ length: 20 }, (_, i) => String(i).repeat(1 + (i % 7) * 3_000));
    const snapshots = await Promise.all(titles.map(snapshot));
    await Promise.all(snapshots.map((one) => checkpoints.save('r', one)));
    const { summary } = JSON.parse(String(await checkpoints.load('r'))) as Snapshot;
    expect(titles).toContain(summary?.title);
    expect(readdirSync(dir)).toEqual(['r.json']);
  });

  const HOSTILE = [
    '',
    '.',
    '..',
    '../outside',
    '/etc/passwd',
    'a/b',
    'a\\b',
    'a\0b',
    'con',
    'nul',
    'x'.repeat(500),
    'ümlaut',
    'a b',
    'A',
    'a',
    'a.json',
    '%2e%2e',
    '日本',
    '\u202Etxt',
  ];

  test.for(HOSTILE)('the name %j stays inside the directory', async (name) => {
    const inside = join(dir, 'inside');
    await mkdir(inside);
    const checkpoints = fileCheckpoints<{ readonly name: string }>(inside, { name: (request) => request.name });
    await checkpoints.save({ name }, await snapshot('kept'));
    expect(readdirSync(dir)).toEqual(['inside']);
    const files = readdirSync(inside);
    expect(files).toHaveLength(1);
    expect(files[0]).toMatch(/^[\w.-]{1,120}\.json$/);
    expect(files[0]).not.toMatch(/^(con|nul)\.json$/i);
    expect(await checkpoints.load({ name })).toContain('kept');
  });

  test('different names are different files, also on case-insensitive file systems', async () => {
    const checkpoints = fileCheckpoints<string>(dir, { name: (request) => request });
    for (const name of HOSTILE) await checkpoints.save(name, await snapshot('x'));
    expect(new Set(readdirSync(dir).map((file) => file.toLowerCase())).size).toBe(HOSTILE.length);
  });

  test("a request's checkpoint is named by its id, its text, or a hash of it", async () => {
    const checkpoints = fileCheckpoints<unknown>(dir);
    for (const request of [{ id: 'r-1' }, { id: 2 }, 'three', { text: 'a', n: 1 }, { n: 1, text: 'a' }, 'four\nlines'])
      await checkpoints.save(request, await snapshot('x'));
    const files = readdirSync(dir).toSorted();
    expect(files.filter((file) => !file.startsWith('request-'))).toEqual(['2.json', 'r-1.json', 'three.json']);
    expect(files.filter((file) => file.startsWith('request-'))).toHaveLength(2); // the order of fields does not matter
  });

  test.for([
    ['load', (directory) => fileCheckpoints(directory).load('r')],
    ['save', async (directory) => fileCheckpoints(directory).save('r', await snapshot('x'))],
    ['clear', (directory) => fileCheckpoints(join(directory, '..')).clear('folder')],
  ] satisfies [string, (directory: string) => Promise<unknown>][])(
    'a directory that cannot be used: %s rejects with CHECKPOINT_INVALID',
    async ([, act]) => {
      writeFileSync(join(dir, 'file'), '');
      mkdirSync(join(dir, 'folder.json'));
      await expect(act(join(dir, 'file'))).rejects.toMatchObject({
        code: 'CHECKPOINT_INVALID',
        message: expect.stringContaining('check the directory and its permissions'),
      });
    },
  );

  test('a checkpoint is readable by its owner only', async () => {
    await fileCheckpoints<string>(dir).save('r', await snapshot('secret'));
    expect(statSync(join(dir, 'r.json')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(dir, 'r.json'), 'utf8')).toContain('secret');
  });
});
