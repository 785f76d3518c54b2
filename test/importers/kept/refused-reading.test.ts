/** Imports of what the system does not let anyone read, and into stores that are full: each is reported, and the rest is imported (I10). */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { memoryStore } from '../../../src/index.ts';
import { sqliteStore } from '../../../src/sqlite.ts';
import { findTranscripts, importTranscripts } from '../../../src/transcripts.ts';
import { asNobody, folder, write } from '../places.ts';
import { eventsOf, imported, openSqlite, prompt } from './support.ts';

const MKFIFO = '/usr/bin/mkfifo';

interface Problem {
  readonly code: string;
  readonly path: string;
}

/** Codes and paths of problems. The paths are relative to a root. */
function problemsBelow(root: string, problems: readonly Problem[]): readonly (readonly string[])[] {
  return problems.map(({ code, path }) => [code, path.slice(root.length + 1)]).sort();
}

/** Takes permissions from files and folders until the test ends. */
function protect(root: string, modes: Readonly<Record<string, number>>): void {
  chmodSync(root, 0o755);
  for (const [name, mode] of Object.entries(modes)) {
    chmodSync(join(root, name), mode);
    onTestFinished(() => chmodSync(join(root, name), 0o755));
  }
}

test('files and folders without permission are reported, and imported once it is given', async () => {
  const store = memoryStore();
  const root = write(folder(), {
    'a.jsonl': prompt('a', 0),
    'b.jsonl': prompt('b', 0),
    'hidden/c.jsonl': prompt('c', 0),
    'names/d.jsonl': prompt('d', 0),
  });
  const modes = { 'a.jsonl': 0, hidden: 0o111, names: 0o444 };
  protect(root, modes);
  const before = await asNobody(() => importTranscripts(store, { paths: [root] }));
  expect(problemsBelow(root, before.problems)).toEqual([
    ['unreadable', 'a.jsonl'],
    ['unreadable', 'hidden'],
    ['unreadable', 'names/d.jsonl'],
  ]);
  expect(before.sessions).toBe(1);
  for (const name of Object.keys(modes)) chmodSync(join(root, name), 0o755);
  const after = await asNobody(() => importTranscripts(store, { paths: [root] }));
  expect([after.sessions, after.unchanged, after.problems]).toEqual([3, 1, []]);
});

test('a session’s folder of which only the names can be read is reported', async () => {
  const root = write(folder(), {
    's.jsonl': prompt('s', 0),
    's/subagents/agent-x.jsonl': prompt('s', 0),
  });
  protect(root, { s: 0o444 });
  const result = await asNobody(() => importTranscripts(memoryStore(), { paths: [root] }));
  expect([result.sessions, problemsBelow(root, result.problems)]).toEqual([1, [['unreadable', 's/subagents']]]);
  const problems: Problem[] = [];
  await asNobody(() => findTranscripts(root, { onProblem: (problem) => problems.push(problem) }));
  expect(problemsBelow(root, problems)).toEqual([['unreadable', 's/subagents']]);
});

test('a name that is not UTF-8 is reported as such, also that of a folder', async () => {
  const root = write(folder(), { 'good.jsonl': prompt('good', 0) });
  const named = (...rest: readonly string[]): Buffer =>
    Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff]), ...rest.map((part) => Buffer.from(part))]);
  writeFileSync(named('.jsonl'), prompt('x', 0));
  mkdirSync(named('folder'));
  const { problems, sessions } = await importTranscripts(memoryStore(), { paths: [root] });
  expect(sessions).toBe(1);
  expect(problems.map(({ code, path, message }) => [code, path.slice(root.length + 1), message])).toEqual([
    ['unreadable', '\uFFFD.jsonl', expect.stringContaining('is not UTF-8')],
    ['unreadable', '\uFFFDfolder', expect.stringContaining('is not UTF-8')],
  ]);
});

test('pipes with the names of an agent’s files are never waited for', async () => {
  const root = write(folder(), { 's.jsonl': prompt('s', 0), 's/subagents/agent-x.jsonl': prompt('s', 0) });
  const pipes = [
    'p.jsonl',
    'agent-y.jsonl',
    'opencode.db',
    's/subagents/agent-z.jsonl',
    's/subagents/agent-x.meta.json',
  ];
  for (const name of existsSync(MKFIFO) ? pipes : []) execFileSync(MKFIFO, [join(root, name)]);
  const store = memoryStore();
  expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 1, problems: [] });
  if (!existsSync(MKFIFO)) return;
  const [named] = (await importTranscripts(store, { paths: [join(root, 'p.jsonl')] })).problems;
  expect(named).toMatchObject({ code: 'not-a-source' });
});

test('an import into a store that is full fails, and with more room the next one completes to the same end', async () => {
  const text = Array.from({ length: 4000 }, (_, n) => Math.sin(n).toString(36)).join('');
  const root = write(
    folder(),
    Object.fromEntries(Array.from({ length: 90 }, (_, n) => [`s${n}.jsonl`, prompt(`s${n}`, 0, `${n} ${text}`)])),
  );
  const database = join(folder(), 'full.db');
  const small = await sqliteStore(database, { backgroundIndexing: false, maxBytes: 2_000_000 });
  await expect(importTranscripts(small, { paths: [root] })).rejects.toMatchObject({ code: 'STORE_FULL' });
  await small.close();
  const store = await openSqlite(database);
  const { sessions, unchanged, problems } = await importTranscripts(store, { paths: [root] });
  expect([sessions + unchanged, problems]).toEqual([90, []]);
  expect(unchanged).toBeGreaterThan(0);
  const whole = memoryStore();
  await importTranscripts(whole, { paths: [root] });
  for (const { id } of await imported(whole)) expect(await eventsOf(store, id)).toEqual(await eventsOf(whole, id));
});
