/** Imported sessions of Codex: the same as those on disk, restored byte for byte, and continued from every block. */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import zlib from 'node:zlib';
import { expect, test } from 'vitest';
import type { ConversationMessage } from '../../../src/core/log/messages.ts';
import { canSend } from '../../../src/history/coherence/coherence.ts';
import { memoryStore } from '../../../src/index.ts';
import { messagesUntilBlock } from '../../../src/transcripts/messages-until-block.ts';
import { parseTranscript, transcriptToMessages } from '../../../src/transcripts/parse-transcript.ts';
import { importTranscripts, loadImported, loadTranscript, restoreTranscript } from '../../../src/transcripts.ts';
import {
  CODEX_CAPTURES,
  codexSession,
  RolloutBuilder,
  rolloutNames,
  rolloutText,
  threadId,
  threadOf,
} from '../../transcripts/codex-fixtures.ts';
import { plain } from '../../transcripts/fixtures.ts';
import { folder, write } from '../places.ts';
import { imported } from './support.ts';

const DAY = 'sessions/2026/11/16';
const CAPTURES = CODEX_CAPTURES.filter(({ version, place }) => version === '0.166.0' && place === 'sessions');

/** A home with every capture; a subagent started on another day than its session. */
function home(): string {
  const root = folder();
  for (const capture of CAPTURES) {
    rolloutNames(capture).forEach((name, index) => {
      const isChild = capture.folder === 'subagent' && index === 1;
      const path = isChild
        ? `sessions/2026/11/17/rollout-2026-11-17T00-00-01-${threadOf(name)}.jsonl`
        : `${DAY}/${name}`;
      write(root, { [path]: rolloutText(capture, name) });
    });
  }
  return root;
}

test('every session of a home is imported as it is on disk, and an import of the same files changes nothing', async () => {
  const store = memoryStore();
  const root = home();
  const { sessions, problems } = await importTranscripts(store, { paths: [root] });
  expect(problems).toEqual([]);
  expect(sessions).toBe(CAPTURES.length + 1); // the fork and its parent
  for (const { id, source } of await imported(store)) {
    const { architecture, raw } = await loadImported(store, id);
    const onDisk = await loadTranscript(source?.path as string);
    expect(architecture).toBe('codex');
    expect(plain(parseTranscript('codex', raw).state)).toEqual(plain(parseTranscript('codex', onDisk.raw).state));
  }
  expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 0, unchanged: sessions });
});

test('a session with a subagent, and a fork with its past, are restored and read again', async () => {
  const store = memoryStore();
  await importTranscripts(store, { paths: [home()] });
  for (const { id, source } of await imported(store)) {
    if (source === undefined) continue;
    const before = await loadImported(store, id);
    const path = join(folder(), DAY, source.path.split('/').at(-1) as string);
    mkdirSync(dirname(path), { recursive: true });
    await restoreTranscript(store, id, path);
    expect(readFileSync(path)).toEqual(readFileSync(source.path));
    expect(plain(parseTranscript('codex', (await loadTranscript(path)).raw).state)).toEqual(
      plain(parseTranscript('codex', before.raw).state),
    );
  }
});

test('lines that Codex appends to a session or to its subagent are imported', async () => {
  const store = memoryStore();
  const root = folder();
  const child = threadId(2);
  const main = new RolloutBuilder()
    .prompt('Go')
    .calls('c1', 'spawn_agent', { message: 'Work' })
    .returns('c1', `{"agent_id":"${child}"}`);
  const work = new RolloutBuilder({ id: child, parent_thread_id: threadId(1) }, { second: 10 }).says('Working');
  const at = (thread: string): string => `${DAY}/rollout-2026-11-16T10-00-00-${thread}.jsonl`;
  write(root, { [at(threadId(1))]: main.text, [at(child)]: work.text });
  await importTranscripts(store, { paths: [root] });
  const before = work.lines.length;
  work.says('Done');
  appendFileSync(join(root, at(child)), `${JSON.stringify(work.lines[before])}\n`);
  expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 1, problems: [] });
  const [session] = await imported(store);
  const { raw } = await loadImported(store, session?.id as string);
  expect(plain(parseTranscript('codex', raw).state).subagents[0]?.blocks).toMatchObject([
    { content: 'Working' },
    { content: 'Done' },
  ]);
});

test('a compressed session is reported, not imported as bytes', async () => {
  const store = memoryStore();
  const root = write(folder(), { [`${DAY}/keep`]: '' });
  const path = join(root, DAY, `rollout-2026-11-16T10-00-00-${threadId(1)}.jsonl.zst`);
  writeFileSync(path, zlib.zstdCompressSync(new RolloutBuilder().prompt('Go').text));
  const { sessions, problems } = await importTranscripts(store, { paths: [root] });
  expect(sessions).toBe(0);
  expect(problems).toMatchObject([{ path, message: expect.stringContaining('zstd -d') }]);
});

test.for(CODEX_CAPTURES)('D55: $version $folder can be continued from every block', (capture) => {
  const raw = codexSession(capture);
  const { state } = parseTranscript('codex', raw);
  const messages = transcriptToMessages('codex', raw);
  const next = {
    ...messages[0],
    id: 'next',
    role: 'user',
    content: [{ type: 'text', text: 'Go on' }],
  } as ConversationMessage;
  let length = 0;
  for (const { id } of state.blocks) {
    const cut = messagesUntilBlock(messages, state.blocks, id) ?? [];
    expect(canSend([...cut, next], 'anthropic').violations).toEqual([]);
    expect(cut.length).toBeGreaterThanOrEqual(length);
    length = cut.length;
  }
  expect(length).toBe(messages.length);
});
