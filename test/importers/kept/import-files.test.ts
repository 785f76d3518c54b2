import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { memoryStore, openSession } from '../../../src/index.ts';
import { parseTranscript } from '../../../src/transcripts/parse-transcript.ts';
import {
  conversationOf,
  eraseRecords,
  importTranscripts,
  loadImported,
  loadTranscript,
  messagesOf,
  restoreTranscript,
  transcriptToMessages,
} from '../../../src/transcripts.ts';
import { call, returns, says, text } from '../../transcripts/claude-builders.ts';
import { textOfLines } from '../../transcripts/fixtures.ts';
import { copyOf, folder, write, writeRealSession } from '../places.ts';
import { eventsOf, filesBelow, imported, openSqlite, prompt, STORES } from './support.ts';

const MAIN = 's1.jsonl';

function place(text: string | Buffer): { readonly root: string; readonly path: string } {
  const root = folder();
  const path = join(root, MAIN);
  writeFileSync(path, text);
  return { root, path };
}

async function restored(store: Parameters<typeof restoreTranscript>[0], id: string, name = MAIN): Promise<Buffer> {
  const path = join(folder(), name);
  await restoreTranscript(store, id, path);
  return readFileSync(path);
}

describe.for(STORES)('importing files into a %s store (D75)', ([, open]) => {
  test('importing again changes nothing', async () => {
    const store = await open();
    const root = copyOf('claude-code-2.1.325');
    const first = await importTranscripts(store, { paths: [root] });
    const seqs = (await imported(store)).map(({ id, seq }) => [id, seq]);
    const second = await importTranscripts(store, { paths: [root] });
    expect(second).toMatchObject({ sessions: 0, bytes: 0, unchanged: first.sessions, problems: [] });
    expect((await imported(store)).map(({ id, seq }) => [id, seq])).toEqual(seqs);
  });

  test('a grown file appends its new bytes only, and a torn last line is recorded again when it is whole', async () => {
    const store = await open();
    const { root, path } = place(prompt('s1', 0));
    await importTranscripts(store, { paths: [root] });
    const torn = prompt('s1', 1, 'a torn line');
    appendFileSync(path, torn.slice(0, 60));
    await importTranscripts(store, { paths: [root] });
    expect(await restored(store, 'claude-sdk:s1')).toEqual(readFileSync(path));
    appendFileSync(path, torn.slice(60) + prompt('s1', 2));
    expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 1 });
    expect(await restored(store, 'claude-sdk:s1')).toEqual(readFileSync(path));
    const session = await openSession({ store, id: 'claude-sdk:s1' });
    expect((await messagesOf(session)).length).toBe(3);
    const ranges = (await eventsOf(store, 'claude-sdk:s1')).flatMap((event) =>
      event.type === 'source/recorded' ? [[event.offset, event.bytes]] : [],
    );
    const length = prompt('s1', 0).length;
    expect(ranges).toEqual([
      [0, length],
      [length, 60],
      [length, statSync(path).size - length],
    ]);
    expect((await store.search?.('torn'))?.length).toBe(1);
  });

  test('a rewritten, a shrunk and an emptied file begin a new generation, and the old one is still searched', async () => {
    const store = await open();
    const { root, path } = place(prompt('s1', 0, 'first words') + prompt('s1', 1));
    const id = 'claude-sdk:s1';
    await importTranscripts(store, { paths: [root] });
    for (const text of [
      prompt('s1', 0, 'other words') + prompt('s1', 1), // the same size
      prompt('s1', 0, 'fewer'),
      '',
      prompt('s1', 0, 'rewritten and longer than before') + prompt('s1', 1) + prompt('s1', 2),
    ]) {
      writeFileSync(path, text);
      await importTranscripts(store, { paths: [root] });
      expect((await restored(store, id)).toString()).toBe(text);
    }
    const [session] = await imported(store);
    expect(session?.source?.files[MAIN]?.generation).toBe(4); // an empty file grows
    expect((await store.search?.('first'))?.length).toBe(1);
    const count = await eraseRecords(store, id, ({ isReplaced }) => isReplaced);
    expect(count).toBe(2 + 2 + 1);
    expect(await store.search?.('first')).toEqual([]);
    expect((await store.search?.('rewritten'))?.length).toBe(1);
  });

  test('a change in the middle of a large file of the same size begins a new generation', async () => {
    const store = await open();
    const { root, path } = place(prompt('s1', 0) + prompt('s1', 1, 'x'.repeat(2000)).repeat(300));
    await importTranscripts(store, { paths: [root] });
    const bytes = readFileSync(path);
    bytes.fill('y', 300_500, 300_900);
    writeFileSync(path, bytes);
    expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 1 });
    expect((await restored(store, 'claude-sdk:s1')).equals(bytes)).toBe(true);
    expect((await imported(store))[0]?.source?.files[MAIN]?.generation).toBe(2);
  });

  test('a touched file appends nothing; a deleted file leaves its session; a file that moved is the same session', async () => {
    const store = await open();
    const { root, path } = place(prompt('s1', 0));
    await importTranscripts(store, { paths: [root] });
    const seq = (await imported(store))[0]?.seq;
    utimesSync(path, 1_000_000, 1_000_000);
    expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 0, unchanged: 1 });
    const text = readFileSync(path, 'utf8');
    rmSync(path);
    expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 0, problems: [] });
    expect((await imported(store))[0]?.seq).toBe(seq);
    expect(await restored(store, 'claude-sdk:s1')).toEqual(Buffer.from(text));
    write(root, { [`moved/${MAIN}`]: text + prompt('s1', 1) });
    await importTranscripts(store, { paths: [root] });
    expect((await imported(store)).map(({ id }) => id)).toEqual(['claude-sdk:s1']);
    expect((await imported(store))[0]?.metadata.path).toBe(join(root, 'moved', MAIN));
  });

  test('a file that moved without a change is listed at its new path, and is not read again', async () => {
    const store = await open();
    const { root, path } = place(prompt('s1', 0));
    await importTranscripts(store, { paths: [root] });
    const moved = join(root, 'moved', MAIN);
    mkdirSync(dirname(moved));
    renameSync(path, moved);
    await importTranscripts(store, { paths: [root] });
    const [session] = await imported(store);
    expect(session).toMatchObject({ metadata: { path: moved }, source: { path: moved } });
    expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 0, unchanged: 1 });
    expect(await imported(store)).toEqual([session]);
    expect(await restored(store, 'claude-sdk:s1')).toEqual(readFileSync(moved));
  });

  test('a subagent that is written later joins the log of its session', async () => {
    const store = await open();
    const { root } = place(prompt('s1', 0));
    await importTranscripts(store, { paths: [root] });
    write(root, {
      's1/subagents/agent-a1.jsonl': prompt('s1', 5, 'below'),
      's1/subagents/agent-a1.meta.json': '{"toolUseId":"t"}',
    });
    expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 1 });
    const { raw } = await loadImported(store, 'claude-sdk:s1');
    expect(raw).toEqual((await loadTranscript(join(root, MAIN))).raw);
    expect(Object.keys((await imported(store))[0]?.source?.files ?? {})).toEqual([
      's1.jsonl',
      's1/subagents/agent-a1.jsonl',
      's1/subagents/agent-a1.meta.json',
    ]);
  });

  test('search finds the texts of records by role, and erased records are gone for good', async () => {
    const store = await open();
    const { root, path } = place(prompt('s1', 0, 'the secret is xylophone') + prompt('s1', 1, 'harmless zebra'));
    await importTranscripts(store, { paths: [root] });
    expect(await store.search?.('xylophone')).toMatchObject([
      { sessionId: 'claude-sdk:s1', role: 'user', excerpt: 'the secret is ⟦xylophone⟧' },
    ]);
    expect((await imported(store))[0]?.title).toBe('the secret is xylophone');
    expect(await eraseRecords(store, 'claude-sdk:s1', ({ text }) => text.includes('xylophone'))).toBe(1);
    expect(await store.search?.('xylophone')).toEqual([]);
    expect((await store.search?.('zebra'))?.length).toBe(1);
    expect(JSON.stringify([await eventsOf(store, 'claude-sdk:s1'), await imported(store)])).not.toContain('xylophone');
    await importTranscripts(store, { paths: [root] });
    appendFileSync(path, prompt('s1', 2, 'later'));
    await importTranscripts(store, { paths: [root] });
    expect(JSON.stringify([await eventsOf(store, 'claude-sdk:s1'), await imported(store)])).not.toContain('xylophone');
    const session = await openSession({ store, id: 'claude-sdk:s1' });
    expect((await messagesOf(session)).length).toBe(2);
    await expect(restoreTranscript(store, 'claude-sdk:s1', join(folder(), MAIN))).rejects.toMatchObject({
      code: 'SOURCE_INCOMPLETE',
    });
  });

  test('search finds each of the records that stand on one line', async () => {
    const store = await open();
    const { root } = place(`${prompt('s1', 0, 'first zebra').trimEnd()}${prompt('s1', 1, 'second giraffe')}`);
    await importTranscripts(store, { paths: [root] });
    expect(await store.search?.('zebra')).toMatchObject([{ role: 'user', excerpt: 'first ⟦zebra⟧' }]);
    expect(await store.search?.('giraffe')).toMatchObject([{ role: 'user', excerpt: 'second ⟦giraffe⟧' }]);
  });

  test('erasing a record also erases the torn line that it was recorded from first', async () => {
    const store = await open();
    const line = prompt('s1', 1, 'the secret is xylophone and more');
    const { root, path } = place(prompt('s1', 0) + line.slice(0, -10));
    await importTranscripts(store, { paths: [root] });
    appendFileSync(path, line.slice(-10));
    await importTranscripts(store, { paths: [root] });
    expect(JSON.stringify(await eventsOf(store, 'claude-sdk:s1')).split('xylophone').length).toBe(3);
    expect(await eraseRecords(store, 'claude-sdk:s1', ({ text }) => text.includes('xylophone'))).toBe(1);
    expect(JSON.stringify(await eventsOf(store, 'claude-sdk:s1'))).not.toContain('xylophone');
  });

  test('damaged content is a typed error, also for restoring', async () => {
    const store = await open();
    const { root } = place(prompt('s1', 0));
    await importTranscripts(store, { paths: [root] });
    const event = (await eventsOf(store, 'claude-sdk:s1')).find(({ type }) => type === 'source/recorded');
    if (!event) throw new Error('nothing was recorded');
    for (const [damage, code] of [
      [{ encoding: 'zstd', data: 'bm90IHpzdGQ=' }, 'STORE_CORRUPT'],
      [{ data: undefined, content: 'sha256:nowhere' }, 'STORE_CORRUPT'],
      [{ data: 'other bytes' }, 'SOURCE_INCOMPLETE'],
    ] as const) {
      await store.replaceEvent('claude-sdk:s1', { ...event, ...damage } as typeof event);
      await expect(restored(store, 'claude-sdk:s1')).rejects.toMatchObject({ code });
      expect(await store.search?.('prompt')).toEqual([]);
    }
  });

  test('a deleted session is not imported again and cannot be restored', async () => {
    const store = await open();
    const { root, path } = place(prompt('s1', 0));
    await importTranscripts(store, { paths: [root] });
    await store.deleteSession('claude-sdk:s1');
    appendFileSync(path, prompt('s1', 1));
    expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 0, deleted: 1, problems: [] });
    expect(await imported(store)).toEqual([]);
    await expect(restoreTranscript(store, 'claude-sdk:s1', join(folder(), MAIN))).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
      message: expect.stringContaining('was deleted'),
    });
  });

  test('redacted records are what views and search see, and cannot be restored', async () => {
    const store = await open();
    const { root } = place(prompt('s1', 0, 'my key is hunter2') + prompt('s1', 1));
    const redact = (record: string): string => record.replaceAll('hunter2', '[redacted]');
    await importTranscripts(store, { paths: [root], redact });
    expect(await importTranscripts(store, { paths: [root], redact })).toMatchObject({ sessions: 0, unchanged: 1 });
    expect(await store.search?.('hunter2')).toEqual([]);
    expect((await store.search?.('redacted'))?.length).toBe(1);
    expect(JSON.stringify([await eventsOf(store, 'claude-sdk:s1'), await imported(store)])).not.toContain('hunter2');
    await expect(restored(store, 'claude-sdk:s1')).rejects.toMatchObject({ code: 'SOURCE_INCOMPLETE' });
  });
});

test('every session of the fixtures is its source: restored files are identical, views equal those of the files', async () => {
  const store = memoryStore();
  const root = copyOf('claude-code-2.1.325');
  writeRealSession(join(root, 'plain'));
  const before = filesBelow(root);
  const result = await importTranscripts(store, { paths: [root] });
  expect(result.problems).toEqual([]);
  const sessions = await imported(store);
  expect(sessions.length).toBe(result.sessions);
  expect(sessions.length).toBeGreaterThan(10);
  for (const { id, source, title, metadata } of sessions) {
    const path = source?.path ?? '';
    const loaded = await loadTranscript(path);
    expect((await loadImported(store, id)).raw).toEqual(loaded.raw);
    const session = await openSession({ store, id });
    expect(JSON.stringify(await conversationOf(session))).toBe(
      JSON.stringify(parseTranscript(loaded.architecture, loaded.raw).state),
    );
    expect(await messagesOf(session)).toEqual(transcriptToMessages(loaded.architecture, loaded.raw));
    expect([title === undefined, metadata.architecture, metadata.path]).toEqual([false, 'claude-sdk', path]);
    const target = folder();
    const files = await restoreTranscript(store, id, join(target, basename(path)));
    expect(files[0]).toBe(join(target, basename(path)));
    const original = filesBelow(join(path, '..'));
    for (const [name, bytes] of Object.entries(filesBelow(target))) expect(bytes).toBe(original[name]);
    expect(files.length).toBe(Object.keys(source?.files ?? {}).length);
  }
  expect(filesBelow(root)).toEqual(before); // nothing was written beside the originals
});

test.for(['/dev/null/x/s1.jsonl', '/dev/null/s1.jsonl', '/proc/self/x/s1.jsonl'])(
  'restoring to %s, where nothing can be written, is a typed error',
  async (path) => {
    const store = memoryStore();
    await importTranscripts(store, { paths: [place(prompt('s1', 0)).root] });
    await expect(restoreTranscript(store, 'claude-sdk:s1', path)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  },
);

test('the agents of a workflow end with its run, in an imported session as in its files', async () => {
  const store = memoryStore();
  const lines = [
    says('a', 'm', call('w', 'Workflow', { name: 'review' })),
    returns('r', 'w', 'ran', { toolUseResult: { runId: 'wf_1', status: 'completed' } }),
  ];
  const root = write(folder(), {
    [MAIN]: textOfLines(lines),
    's1/subagents/workflows/wf_1/agent-x1.jsonl': textOfLines([says('b', 'n', text('Reviewing'))]),
  });
  await importTranscripts(store, { paths: [root] });
  const loaded = await loadTranscript(join(root, MAIN));
  const { raw } = await loadImported(store, 'claude-sdk:s');
  expect(raw).toEqual(loaded.raw);
  const { state, diagnostics } = parseTranscript('claude-sdk', raw);
  expect(state.subagents).toMatchObject([{ agentId: 'x1', status: 'success' }]);
  expect(diagnostics.problems).toEqual([]);
});

test('lines of bookkeeping are kept and not shown', async () => {
  const store = memoryStore();
  const types = ['pr-link', 'bridge-session', 'agent-name', 'worktree-state', 'marble-origami-commit'];
  const written =
    prompt('s1', 0) + textOfLines(types.map((type) => ({ type, sessionId: 's1', url: 'https://example.com' })));
  const { root, path } = place(written);
  await importTranscripts(store, { paths: [root] });
  rmSync(path);
  expect((await conversationOf(await openSession({ store, id: 'claude-sdk:s1' }))).blocks.length).toBe(1);
  expect((await restored(store, 'claude-sdk:s1')).toString()).toBe(written);
});

test('what else is in the folder of a session is kept with it, neither shown nor searched', async () => {
  const store = memoryStore();
  const root = write(folder(), {
    's1.jsonl': prompt('s1', 0),
    's1/tool-results/a.txt': 'spilled xylophone\r\n',
    's1/subagents/agent-acompact-1.jsonl': prompt('s1', 1, 'xylophone'),
    's1/subagents/workflows/wf_1/journal.jsonl': '',
  });
  expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 1, problems: [] });
  expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 0, unchanged: 1 });
  expect((await loadImported(store, 'claude-sdk:s1')).raw).toEqual((await loadTranscript(join(root, MAIN))).raw);
  expect(await store.search?.('xylophone')).toEqual([]);
  const target = folder();
  await restoreTranscript(store, 'claude-sdk:s1', join(target, MAIN));
  expect(filesBelow(target)).toEqual(filesBelow(root));
});

test('any bytes, written in any pieces between imports, are restored exactly', async () => {
  const store = await openSqlite();
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom('\n', '\r\n', '{"a":1}{"b":2}\n', '\0\0', '\u2028', '\uFEFF', '{"torn":"')
      .map((text) => Buffer.from(text)),
    fc.integer({ min: 100_000, max: 300_000 }).map((length) => Buffer.alloc(length, 'x')),
    fc.integer({ min: 1, max: 3000 }).map((n) => Buffer.from(prompt('p', n).repeat(20))),
  );
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(piece, { maxLength: 4 }), { minLength: 1, maxLength: 4 }), async (imports) => {
      const name = `p${run++}.jsonl`;
      const path = join(write(folder(), { [name]: prompt(name, 0) }), name);
      for (const pieces of imports) {
        for (const bytes of pieces) appendFileSync(path, bytes);
        expect((await importTranscripts(store, { paths: [path] })).problems).toEqual([]);
      }
      expect((await restored(store, `claude-sdk:${name}`, name)).equals(readFileSync(path))).toBe(true);
    }),
    { numRuns: 12 },
  );
});
