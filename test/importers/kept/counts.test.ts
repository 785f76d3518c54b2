/** Counts of imported sessions, compared with counts that use none of our parsers. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import type { ConversationBlock } from '../../../src/conversation/blocks.ts';
import { memoryStore, openSession } from '../../../src/index.ts';
import type { Store } from '../../../src/ports/store.ts';
import { conversationOf, importTranscripts } from '../../../src/transcripts.ts';
import { copyOf, folder, writeDatabase, writeRealSession } from '../places.ts';
import { imported } from './support.ts';

interface Counts {
  readonly prompts: number;
  readonly texts: number;
  readonly calls: number;
  readonly results: number;
}

// biome-ignore lint/suspicious/noExplicitAny: the lines of other programs, read as plainly as possible
type Foreign = any;

/** The counts of what a screen shows of the main conversation. */
async function shown(store: Store, id: string): Promise<Counts> {
  const blocks = [...(await conversationOf(await openSession({ store, id }))).blocks];
  const count = (is: (block: ConversationBlock) => boolean): number => blocks.filter(is).length;
  return {
    prompts: count(({ type }) => type === 'user_message'),
    texts: count(({ type }) => type === 'assistant_text'),
    calls: count(({ type }) => type === 'tool_use' || type === 'subagent'),
    results: count(
      (block) => block.type === 'tool_result' || (block.type === 'subagent' && block.output !== undefined),
    ),
  };
}

function countLines(text: string): Counts {
  const lines: Foreign[] = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
  const seen = new Set<string>();
  const once = lines.filter(({ uuid }) => uuid === undefined || (!seen.has(uuid) && seen.add(uuid)));
  const parts = (type: string): Foreign[] =>
    once
      .filter((line) => line.type === type && !line.isSidechain && Array.isArray(line.message.content))
      .flatMap((line) => line.message.content);
  const ids = (found: Foreign[], field: string): number => new Set(found.map((part) => part[field])).size;
  const typed = once.filter((line) => {
    if (line.type === 'attachment')
      return line.attachment.type === 'queued_command' && !/^<task-notification/.test(line.attachment.prompt);
    if (line.type !== 'user' || line.isMeta || line.isCompactSummary || line.isSidechain) return false;
    const { content } = line.message;
    const words =
      typeof content === 'string'
        ? content
        : content.flatMap((part: Foreign) => (part.type === 'text' ? [part.text] : [])).join('\n');
    return (
      words !== '' &&
      !/^<(command|local-command|task-notification|system-reminder)|^\[Request interrupted|^Caveat:/.test(words)
    );
  });
  return {
    prompts: typed.length,
    texts: parts('assistant').filter((part) => part.type === 'text' && part.text.trim() !== '').length,
    calls: ids(
      parts('assistant').filter((part) => part.type === 'tool_use'),
      'id',
    ),
    results: ids(
      parts('user').filter((part) => part.type === 'tool_result'),
      'tool_use_id',
    ),
  };
}

test('prompts, texts, calls and results of imported Claude Code sessions equal those of the lines', async () => {
  const store = memoryStore();
  const root = copyOf('claude-code-2.1.325');
  writeRealSession(join(root, 'plain'));
  await importTranscripts(store, { paths: [root] });
  const sum = { prompts: 0, texts: 0, calls: 0, results: 0 };
  for (const { id, source } of await imported(store)) {
    const path = source?.path ?? '';
    const counts = countLines(readFileSync(path, 'utf8'));
    expect([dirname(path).slice(root.length), await shown(store, id)]).toEqual([
      dirname(path).slice(root.length),
      counts,
    ]);
    for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += counts[name];
  }
  expect(Object.values(sum).every((count) => count > 15)).toBe(true);
});

test('prompts, texts, calls and results of imported OpenCode sessions equal those of the rows', async () => {
  const store = memoryStore();
  const path = writeDatabase(folder());
  await importTranscripts(store, { paths: [path] });
  const database = new DatabaseSync(path);
  const count = (sql: string, id: string): number => {
    const query = `SELECT count(*) AS n FROM part JOIN message ON message.id = message_id WHERE part.session_id = ? AND ${sql}`;
    return Number((database.prepare(query).get(id) as { n: number }).n);
  };
  const type = `json_extract(part.data, '$.type')`;
  const role = `json_extract(message.data, '$.role')`;
  for (const { id, source } of await imported(store)) {
    const sessionId = source?.sessionId ?? '';
    const calls = count(`${type} = 'tool'`, sessionId);
    expect([sessionId, await shown(store, id)]).toEqual([
      sessionId,
      {
        prompts: count(
          `${type} = 'text' AND ${role} = 'user' AND json_extract(part.data, '$.synthetic') IS NULL`,
          sessionId,
        ),
        texts: count(
          `${type} = 'text' AND ${role} = 'assistant' AND trim(json_extract(part.data, '$.text')) != ''`,
          sessionId,
        ),
        calls,
        results: count(
          `${type} = 'tool' AND json_extract(part.data, '$.state.status') IN ('completed', 'error')`,
          sessionId,
        ),
      },
    ]);
  }
  database.close();
});
