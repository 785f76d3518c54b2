/** OpenCode's rows in a store. The tests change a copy of a real database as OpenCode does. */
import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { memoryStore, openSession } from '../../../src/index.ts';
import { parseTranscript } from '../../../src/transcripts/parse-transcript.ts';
import {
  conversationOf,
  eraseRecords,
  importTranscripts,
  loadTranscript,
  messagesOf,
  restoreTranscript,
  transcriptToMessages,
} from '../../../src/transcripts.ts';
import { openCodeSession } from '../../transcripts/fixtures.ts';
import { copyOf, type Exported, folder, write, writeDatabase, writeStorage } from '../places.ts';
import { eventsOf, imported } from './support.ts';

function change(path: string, sql: string, ...parameters: (string | number)[]): void {
  const database = new DatabaseSync(path);
  database.prepare(sql).run(...parameters);
  database.close();
}

test('every session of a database is imported with its children, and views equal those of the database', async () => {
  const store = memoryStore();
  const path = writeDatabase(folder());
  const result = await importTranscripts(store, { paths: [path] });
  expect(result.problems).toEqual([]);
  const sessions = await imported(store);
  expect(sessions.length).toBe(result.sessions);
  expect(sessions.length).toBeGreaterThan(15);
  expect(sessions.some(({ source }) => Object.keys(source?.files ?? {}).length > 1)).toBe(true);
  for (const { id, source, metadata } of sessions) {
    const sessionId = source?.sessionId ?? '';
    const { architecture, raw } = await loadTranscript(path, { sessionId });
    const session = await openSession({ store, id });
    const { state } = parseTranscript(architecture, raw);
    expect(JSON.stringify(await conversationOf(session))).toBe(JSON.stringify(state));
    const messages = transcriptToMessages(architecture, raw);
    expect(await messagesOf(session)).toEqual(messages);
    expect(metadata).toMatchObject({ architecture: 'opencode', cwd: expect.any(String), messages: expect.any(Number) });
    const target = join(folder(), 'session.json');
    await restoreTranscript(store, id, target);
    const exported = JSON.parse(readFileSync(target, 'utf8'));
    expect(exported.info).toMatchObject({ id: sessionId, slug: expect.any(String), version: expect.any(String) });
    expect(JSON.stringify(parseTranscript('opencode', (await loadTranscript(target)).raw).state)).toBe(
      JSON.stringify(state),
    );
  }
});

test('the sessions of a database that moved without a change are listed at its new path', async () => {
  const store = memoryStore();
  const path = writeDatabase(folder());
  const { sessions } = await importTranscripts(store, { paths: [path] });
  const moved = join(folder(), 'opencode.db');
  renameSync(path, moved);
  await importTranscripts(store, { paths: [moved] });
  const listed = await imported(store);
  expect(listed.map(({ source }) => source?.path)).toEqual(Array.from({ length: sessions }, () => moved));
  expect(await importTranscripts(store, { paths: [moved] })).toMatchObject({ sessions: 0, unchanged: sessions });
  expect(await imported(store)).toEqual(listed);
});

test('a changed row is appended, a removed one is marked, and an unchanged database appends nothing', async () => {
  const store = memoryStore();
  const path = writeDatabase(folder());
  await importTranscripts(store, { paths: [path] });
  const before = new Map((await imported(store)).map(({ id, seq }) => [id, seq]));
  expect(await importTranscripts(store, { paths: [path] })).toMatchObject({ sessions: 0, bytes: 0 });
  const database = new DatabaseSync(path);
  const [part] = database
    .prepare(
      `SELECT id, session_id, message_id FROM part WHERE json_extract(data, '$.type') = 'text' AND session_id IN (SELECT id FROM session WHERE parent_id IS NULL) LIMIT 1`,
    )
    .all() as { id: string; session_id: string; message_id: string }[];
  database.close();
  if (!part) throw new Error('the fixture has no text');
  const id = `opencode:${part.session_id}`;
  change(
    path,
    `UPDATE part SET data = json_set(data, '$.text', 'a quokka'), time_updated = time_updated + 1 WHERE id = ?`,
    part.id,
  );
  expect(await importTranscripts(store, { paths: [path] })).toMatchObject({ sessions: 1 });
  expect((await store.search?.('quokka'))?.map(({ sessionId }) => sessionId)).toEqual([id]);
  const session = await openSession({ store, id });
  expect(JSON.stringify(await messagesOf(session))).toContain('a quokka');
  change(path, 'DELETE FROM part WHERE message_id = ?', part.message_id);
  change(path, 'DELETE FROM message WHERE id = ?', part.message_id);
  await importTranscripts(store, { paths: [path] });
  expect(JSON.stringify(await messagesOf(session))).not.toContain('a quokka');
  for (const { id: other, seq } of await imported(store)) if (other !== id) expect(seq).toBe(before.get(other));
});

test('an erased row does not come back, also when OpenCode changes it', async () => {
  const store = memoryStore();
  const path = writeDatabase(folder());
  await importTranscripts(store, { paths: [path] });
  const [first] = await imported(store);
  const id = first?.id ?? '';
  const message = (text: string): boolean => text.startsWith('{"type":"message"');
  expect(await eraseRecords(store, id, ({ text }) => message(text))).toBeGreaterThan(0);
  change(
    path,
    `UPDATE message SET time_updated = time_updated + 1, data = json_set(data, '$.changed', 'erased-again')`,
  );
  await importTranscripts(store, { paths: [path] });
  expect(await messagesOf(await openSession({ store, id }))).toEqual([]);
  expect(JSON.stringify(await eventsOf(store, id))).not.toContain('erased-again');
  await expect(restoreTranscript(store, id, join(folder(), 'x.json'))).rejects.toMatchObject({
    code: 'SOURCE_INCOMPLETE',
  });
});

test('a storage folder from before 1.2 is imported with its children, and again only what changed', async () => {
  const store = memoryStore();
  const { main, subagents } = openCodeSession('serve-nested');
  const exports = [main as string, ...subagents.map(({ transcript }) => transcript as string)];
  const root = writeStorage(join(folder(), 'storage'), exports);
  expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 1, problems: [] });
  expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 0, unchanged: 1, bytes: 0 });
  const [found] = await imported(store);
  const state = await conversationOf(await openSession({ store, id: found?.id ?? '' }));
  expect(JSON.stringify(state)).toBe(
    JSON.stringify(parseTranscript('opencode', (await loadTranscript(root)).raw).state),
  );
  const [last] = (JSON.parse(main as string) as Exported).messages.slice(-1);
  write(root, { [`part/${last?.info.id}/prt_new.json`]: JSON.stringify({ type: 'text', text: 'a numbat' }) });
  expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 1 });
  expect((await store.search?.('numbat'))?.length).toBe(1);
});

test('exported sessions are files: restored byte for byte, with the exports of their children', async () => {
  const store = memoryStore();
  const root = copyOf('opencode-1.18.33');
  rmSync(join(root, 'opencode.db.gz'));
  expect((await importTranscripts(store, { paths: [root] })).problems).toEqual([]);
  const sessions = await imported(store);
  expect(sessions.length).toBeGreaterThan(3);
  for (const { id, source } of sessions) {
    const target = join(folder(), 'export.json');
    await restoreTranscript(store, id, target);
    expect(readFileSync(target).equals(readFileSync(source?.path ?? ''))).toBe(true);
    const { raw } = await loadTranscript(source?.path ?? '');
    expect(JSON.stringify(await conversationOf(await openSession({ store, id })))).toBe(
      JSON.stringify(parseTranscript('opencode', raw).state),
    );
  }
});
