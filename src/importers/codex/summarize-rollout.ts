import { stat } from 'node:fs/promises';
import { partsOf, textOfParts } from '../../transcripts/codex/items/content.ts';
import { itemOfEvent } from '../../transcripts/codex/items/items.ts';
import { contentKinds, injectedKind, isUserKind } from '../../transcripts/codex/items/prompts.ts';
import { parseRolloutLine } from '../../transcripts/codex/rollouts/rollout-line.ts';
import { asText } from '../../transcripts/json-access.ts';
import { sessionTitle } from '../../transcripts/text-lines.ts';
import { type ChunkReader, readOpened } from '../chunk-reader.ts';
import { LineScanner } from '../line-scanner.ts';
import type { FoundSession } from '../transcript-source.ts';
import { isCompressed, readCompressed } from './compressed-file.ts';
import { headLines, lastTime, type ReadRollout } from './rollout-files.ts';
import type { RolloutCatalog } from './session-rollouts.ts';

/** Instructions and the state of the world come before the first prompt. */
const HEAD_BYTES = 512 * 1024;
const MAX_COUNTED_BYTES = 32 * 1024 * 1024;
const CHUNK = 256 * 1024;
/** How much of a line decides whether it holds a message. */
const PREFIX = 512;

/** Summarizes a session; `undefined` when the file is a subagent's, or a newer rollout of its thread exists. */
export async function summarizeRollout(
  rollout: ReadRollout,
  catalog: RolloutCatalog,
): Promise<FoundSession | undefined> {
  const { path, threadId, rolloutId, meta } = rollout;
  if (meta?.parentThreadId !== undefined) return undefined;
  const { newest } = await catalog.list(path);
  if ((newest.get(threadId) ?? '') > rolloutId) return undefined;
  const { size, mtime } = await stat(path);
  const title = sessionTitle((await catalog.names(path)).get(threadId) ?? (await firstPrompt(path)));
  const messages = await countMessages(path, size);
  return {
    path,
    sessionId: meta?.threadId ?? threadId,
    ...(title !== undefined && { title }),
    ...(meta?.cwd !== undefined && { cwd: meta.cwd }),
    ...(meta?.createdAt !== undefined && { createdAt: meta.createdAt }),
    updatedAt: (await lastTime(path)) ?? mtime.toISOString(),
    bytes: size,
    ...(messages !== undefined && { messages }),
    subagents: await catalog.countSubagents(rollout),
  };
}

/** The first thing that a person wrote. */
async function firstPrompt(path: string): Promise<string | undefined> {
  let fallback: string | undefined;
  const texts = await headLines(path, HEAD_BYTES);
  for (const line of texts.flatMap((text) => parseRolloutLine(text)?.lines ?? [])) {
    if (line.type === 'event_msg') {
      const item = itemOfEvent(line.payload);
      if (line.payload.type === 'user_message') return asText(line.payload.message);
      if (item?.type === 'UserMessage') return textOfParts(partsOf(item.content));
    } else if (line.type === 'response_item' && line.payload.role === 'user' && fallback === undefined) {
      const kinds = contentKinds(line.payload);
      const parts = partsOf(line.payload.content).filter((_, i) => kinds === undefined || isUserKind(kinds[i] ?? ''));
      const prompt = textOfParts(parts);
      if (prompt.trim() !== '' && injectedKind(prompt) === undefined) fallback = prompt;
    }
  }
  return fallback;
}

/** The number of prompts and texts in a file. `undefined` for very large files, because even this would take long. */
async function countMessages(path: string, size: number): Promise<number | undefined> {
  if (size > MAX_COUNTED_BYTES) return undefined;
  const chunks: ChunkReader = isCompressed(path) ? readCompressed(path, () => {}) : await readOpened(path, CHUNK);
  const scanner = new LineScanner(chunks);
  let shown = 0;
  let messages = 0;
  let read = 0;
  try {
    for (let line = scanner.next(); line !== 'end'; line = scanner.next()) {
      if (line === 'more') {
        await scanner.read();
        continue;
      }
      read += line.end - line.start;
      if (read > MAX_COUNTED_BYTES) return undefined; // a compressed file is larger than its size says
      const bytes = line.buffer.subarray(line.start, line.end);
      for (let start = 0; start >= 0; ) {
        const next = bytes.indexOf(GLUED, start + 1);
        const end = Math.min(next < 0 ? bytes.length : next, start + PREFIX);
        const prefix = bytes.toString('latin1', start, end);
        if (SHOWN.test(prefix)) shown++;
        else if (MESSAGE.test(prefix)) messages++;
        start = next;
      }
    }
  } finally {
    await scanner.close();
  }
  // Files that another program wrote may lack the events.
  return shown > 0 ? shown : messages;
}

/** The end of a record and the start of the next one on the same line. */
const GLUED = '}{"timestamp":"';
const SHOWN = /"item":\{"type":"(?:User|Agent)Message"|"payload":\{"type":"(?:user|agent)_message","message"/;
const MESSAGE = /"payload":\{"type":"message",.*"role":"(?:user|assistant)"/;
