/** Folders and stores that were made to break an import: each problem is reported, nothing is lost or overwritten (I10). */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { importWith } from '../../../src/importers/kept/import-transcripts.ts';
import { readLoaded, type TranscriptSource } from '../../../src/importers/transcript-source.ts';
import { memoryStore, openSession, type Store } from '../../../src/index.ts';
import { claudeFormat } from '../../../src/transcripts/claude/claude-format.ts';
import { importTranscripts, loadImported, restoreTranscript } from '../../../src/transcripts.ts';
import { folder, write, writeDatabase } from '../places.ts';
import { imported, prompt } from './support.ts';

test('links, folders with the name of a file, unreadable files and names that are not UTF-8 do not stop the import', async () => {
  const store = memoryStore();
  const outside = write(folder(), { 'outside.jsonl': prompt('outside', 0), 'deep/inner.jsonl': prompt('inner', 0) });
  const root = write(folder(), { 'good.jsonl': prompt('good', 0), 'z.jsonl': prompt('z', 0) });
  symlinkSync(join(outside, 'outside.jsonl'), join(root, 'link.jsonl'));
  symlinkSync(join(outside, 'deep'), join(root, 'linked'));
  symlinkSync(join(root, 'loop'), join(root, 'loop'));
  mkdirSync(join(root, 'folder.jsonl'));
  writeFileSync(
    Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0xfe]), Buffer.from('.jsonl')]),
    prompt('x', 0),
  );
  const { problems } = await importTranscripts(store, { paths: [root] });
  expect((await imported(store)).map(({ id }) => id)).toEqual(['claude-sdk:good', 'claude-sdk:z']);
  expect(problems.map(({ code, path }) => [code, path.slice(root.length + 1)]).sort()).toEqual([
    ['symbolic-link', 'link.jsonl'],
    ['symbolic-link', 'linked'],
    ['symbolic-link', 'loop'],
    ['unreadable', '\uFFFD\uFFFD.jsonl'],
  ]);
});

test('a sparse file of 10 GB is reported and skipped, and one of zeros within the limit is imported', async () => {
  const store = memoryStore();
  const root = write(folder(), { 'huge.jsonl': prompt('huge', 0), 'zeros.jsonl': prompt('zeros', 0) });
  truncateSync(join(root, 'huge.jsonl'), 10 * 1024 ** 3);
  truncateSync(join(root, 'zeros.jsonl'), 20 * 1024 ** 2);
  const { problems } = await importTranscripts(store, { paths: [root] });
  expect(problems.map(({ code }) => code)).toEqual(['too-large']);
  const path = join(folder(), 'zeros.jsonl');
  await restoreTranscript(store, 'claude-sdk:zeros', path);
  expect(readFileSync(path).equals(readFileSync(join(root, 'zeros.jsonl')))).toBe(true);
});

test('a file that is no database, and a database without tables, are reported', async () => {
  const root = write(folder(), { 'opencode.db': 'SQLite format 3\0 but not really', 'good.jsonl': prompt('good', 0) });
  new DatabaseSync(join(root, 'opencode-empty.db')).exec('CREATE TABLE x (y)');
  const { problems, sessions } = await importTranscripts(memoryStore(), { paths: [root] });
  expect([sessions, problems.map(({ code }) => code)]).toEqual([1, ['unreadable', 'unreadable']]);
});

test('a session of our own that has the id of an imported one is left alone, and the source gets another id', async () => {
  const store = memoryStore();
  const own = await openSession({ store, id: 'claude-sdk:s1' });
  await own.append([{ type: 'note/added' }]);
  const root = write(folder(), { 's1.jsonl': prompt('s1', 0) });
  const { sessions, problems } = await importTranscripts(store, { paths: [root] });
  expect([sessions, problems]).toEqual([1, []]);
  expect((await store.head('claude-sdk:s1')).seq).toBe(1);
  const [session] = await imported(store);
  expect(session?.id).toMatch(/^claude-sdk:s1@[0-9a-f]{12}$/);
  expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 0, unchanged: 1 });
});

test('of two files of one session id the first by path gets it, although the second could be written earlier', async () => {
  const root = write(folder(), { 'a/s1.jsonl': prompt('s1', 0, 'in a'), 'b/s1.jsonl': prompt('s1', 0, 'in b') });
  const first = join(root, 'a/s1.jsonl');
  const store = memoryStore();
  const slow: Store = {
    ...store,
    async append(id, events, options) {
      const isFirst = events.some((event) => event.type === 'source/described' && event.path === first);
      for (let turns = 0; isFirst && turns < 100; turns++) await setImmediate();
      return store.append(id, events, options);
    },
  };
  await importTranscripts(slow, { paths: [root] });
  const paths = new Map((await imported(store)).map(({ id, source }) => [id, source?.path]));
  expect([paths.size, paths.get('claude-sdk:s1')]).toEqual([2, first]);
});

test('two files of one session id are two sessions', async () => {
  const store = memoryStore();
  const root = write(folder(), { 'a/s1.jsonl': prompt('s1', 0, 'in a'), 'b/s1.jsonl': prompt('s1', 0, 'in b') });
  await importTranscripts(store, { paths: [root] });
  await importTranscripts(store, { paths: [root] });
  const raws = await Promise.all((await imported(store)).map(async ({ id }) => (await loadImported(store, id)).raw));
  expect(raws.sort()).toEqual([prompt('s1', 0, 'in a'), prompt('s1', 0, 'in b')]);
});

test('ids with separators, NUL and half a character are ids of sessions, never paths', async () => {
  const store = memoryStore();
  for (const [i, sessionId] of ['../../etc/passwd', 'a\0b', '\uD800', '__proto__', 'x'.repeat(2000)].entries()) {
    const source: TranscriptSource = {
      format: claudeFormat,
      defaultRoots: () => [],
      innerFolders: [],
      detect: async ({ path }) => ({ path }),
      startSearch:
        () =>
        async ({ kind, path }) =>
          kind === 'file' ? [{ path, sessionId, subagents: 0 }] : undefined,
      load: async () => '',
      read: (...args) => readLoaded(source, ...args),
    };
    const root = write(folder(), { [`f${i}.jsonl`]: prompt('x', i) });
    expect((await importWith({ 'claude-sdk': source }, store, { paths: [root] })).problems).toEqual([]);
    expect(await importWith({ 'claude-sdk': source }, store, { paths: [root] })).toMatchObject({ sessions: 0 });
  }
  expect((await imported(store)).length).toBe(5);
});

test('a database row with a hostile id is restored below the folder or refused', async () => {
  const store = memoryStore();
  const path = writeDatabase(folder());
  const database = new DatabaseSync(path);
  database.exec(
    `PRAGMA foreign_keys = OFF; UPDATE session SET id = '../../outside' WHERE id = (SELECT id FROM session WHERE parent_id IS NOT NULL LIMIT 1)`,
  );
  database.close();
  await importTranscripts(store, { paths: [path] });
  const hostile = (await imported(store)).find(({ source }) => source && '../../outside' in source.files);
  const target = folder();
  await expect(restoreTranscript(store, hostile?.id ?? '', join(target, 'a/b/c.json'))).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
  expect(existsSync(join(target, 'outside.json'))).toBe(false);
});

test('restoring never overwrites a file, also not a subagent’s, and leaves nothing behind', async () => {
  const store = memoryStore();
  const root = write(folder(), { 's1.jsonl': prompt('s1', 0), 's1/subagents/agent-a.jsonl': prompt('s1', 1) });
  await importTranscripts(store, { paths: [root] });
  const target = write(folder(), { 'x/subagents/agent-a.jsonl': 'mine' });
  await expect(restoreTranscript(store, 'claude-sdk:s1', join(target, 'x.jsonl'))).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('nothing is overwritten'),
  });
  expect(existsSync(join(target, 'x.jsonl'))).toBe(false);
  expect(readFileSync(join(target, 'x/subagents/agent-a.jsonl'), 'utf8')).toBe('mine');
  const paths = await restoreTranscript(store, 'claude-sdk:s1', join(target, 'y.jsonl'));
  expect(paths).toEqual([join(target, 'y.jsonl'), join(target, 'y/subagents/agent-a.jsonl')]);
});

test('a problem is reported once while files are followed, and a file that disappears is none', async () => {
  const store = memoryStore();
  const root = write(folder(), { 'a.jsonl': prompt('a', 0) });
  symlinkSync('/etc', join(root, 'link'));
  const stop = new AbortController();
  const seen: string[] = [];
  const done = importTranscripts(store, {
    paths: [root],
    watch: true,
    signal: stop.signal,
    onProgress: ({ sessions }) => {
      if (sessions === 1 && !seen.includes('b')) {
        seen.push('b');
        write(root, { 'b.jsonl': prompt('b', 0), 'gone.jsonl': '' });
        rmSync(join(root, 'gone.jsonl'));
      } else if (sessions === 2) stop.abort();
    },
  });
  expect((await done).problems.map(({ code }) => code)).toEqual(['symbolic-link']);
});

test('wrong options and missing paths are typed errors', async () => {
  const store = memoryStore();
  const wrong = { path: ['x'] } as unknown as Parameters<typeof importTranscripts>[1];
  await expect(importTranscripts(store, wrong)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  await expect(importTranscripts(store, { watch: true })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  await expect(importTranscripts(store, { paths: ['/nowhere/at/all'] })).rejects.toMatchObject({
    code: 'CONVERSATION_NOT_FOUND',
  });
  for (const paths of ['/x', [1], [''], null, {}]) {
    await expect(importTranscripts(store, { paths } as never)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining("pass { paths: ['/folder'] }"),
    });
  }
  await expect(importTranscripts(store, { paths: ['~/.claude'] })).rejects.toMatchObject({
    code: 'CONVERSATION_NOT_FOUND',
    message: expect.stringContaining('"~" is not expanded'),
  });
});

test('a session whose id has control characters or lone surrogates is imported under a safe id of its own', async () => {
  const store = memoryStore();
  const ids = ['a\nb', 'a\0b', 'a\u0085b', 'a\uD800b', 'a_b'];
  const root = write(folder(), Object.fromEntries(ids.map((id, i) => [`p/${i}.jsonl`, prompt(id, 0)])));
  expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: ids.length, problems: [] });
  const sessions = await imported(store);
  expect(sessions.map(({ source }) => source?.sessionId).sort()).toEqual(ids.sort());
  for (const { id } of sessions) expect(id).toMatch(/^claude-sdk:a_b(-[0-9a-f]{12})?$/);
  expect(new Set(sessions.map(({ id }) => id)).size).toBe(ids.length);
  expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 0, unchanged: ids.length });
});
