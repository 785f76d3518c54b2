/** Every session of an agent is found; a file that is skipped is reported. */
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { memoryStore } from '../../../src/index.ts';
import { findTranscripts, importTranscripts } from '../../../src/transcripts.ts';
import { folder, write } from '../places.ts';
import { imported, prompt } from './support.ts';

const EXPORT = JSON.stringify({
  info: { id: 'ses_1', title: 'one', time: { created: 1, updated: 2 } },
  messages: [{ info: { id: 'msg_1', sessionID: 'ses_1', role: 'user', time: { created: 1 } }, parts: [] }],
});

test.each([
  ['printed', JSON.stringify(JSON.parse(EXPORT), null, 2)],
  ['on one line', EXPORT],
  [
    'with its fields in another order',
    JSON.stringify({ messages: JSON.parse(EXPORT).messages, info: { id: 'ses_1' } }),
  ],
])('an export of OpenCode %s is found under any name, in a folder and by its path', async (_, text) => {
  const root = write(folder(), { 'my-session.json': text, 'package.json': '{"name":"x"}', 'bad.json': '{"info":' });
  for (const path of [root, join(root, 'my-session.json')]) {
    expect((await findTranscripts(path)).map(({ sessionId }) => sessionId)).toEqual(['ses_1']);
    const store = memoryStore();
    expect(await importTranscripts(store, { paths: [path] })).toMatchObject({ sessions: 1, problems: [] });
    expect((await imported(store)).map(({ id }) => id)).toEqual(['opencode:ses_1']);
  }
});

test('an export of OpenCode that is too large to be read is a problem', async () => {
  const root = write(folder(), { 'a.json': EXPORT, 'export.json': EXPORT });
  for (const name of ['a.json', 'export.json']) truncateSync(join(root, name), 64 * 1024 ** 2 + 1);
  const { problems } = await importTranscripts(memoryStore(), { paths: [root, join(root, 'a.json')] });
  expect(problems.map(({ code, path }) => [code, path]).sort()).toEqual([
    ['too-large', join(root, 'a.json')],
    ['too-large', join(root, 'export.json')],
  ]);
  expect(problems[0]?.message).toContain('database');
});

test('a file that the caller has named and that holds no session is a problem', async () => {
  const root = write(folder(), { 'other.jsonl': '{"a":1}\n', 'package.json': '{"name":"x"}' });
  const paths = [join(root, 'other.jsonl'), join(root, 'package.json')];
  const { problems } = await importTranscripts(memoryStore(), { paths });
  expect(problems.map(({ code, path }) => [code, path])).toEqual(paths.map((path) => ['not-a-source', path]));
  expect((await importTranscripts(memoryStore(), { paths: [root] })).problems).toEqual([]);
});

test.each([
  ['empty', '""'],
  ['a number', '12'],
  ['missing', undefined],
])('a session of Claude Code whose id is %s has the name of its file', async (_, id) => {
  const line = prompt('s1', 0);
  const text = line.replace('"sessionId":"s1",', id === undefined ? '' : `"sessionId":${id},`);
  const root = write(folder(), { 'p/name.jsonl': text });
  const store = memoryStore();
  expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 1, problems: [] });
  expect((await imported(store)).map((session) => session.id)).toEqual(['claude-sdk:name']);
});

test('a session of Claude Code whose first line is longer than a sample is found', async () => {
  const long = prompt('s1', 0, 'x'.repeat(17 * 1024 ** 2));
  const { message, ...rest } = JSON.parse(long) as Record<string, unknown>;
  const root = write(folder(), {
    'a/s1.jsonl': long,
    'b/s2.jsonl': long + prompt('s2', 1),
    'c/s3.jsonl': `${JSON.stringify({ message, ...rest })}\n`,
  });
  const found = await findTranscripts(root);
  expect(found.map(({ sessionId }) => sessionId).sort()).toEqual(['s1', 's2', 's3']);
  const store = memoryStore();
  expect(await importTranscripts(store, { paths: [join(root, 'a')] })).toMatchObject({ sessions: 1, problems: [] });
});
