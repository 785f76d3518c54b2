/** Transcripts of any size, as they are read. */
import { dirname } from 'node:path';
import type { ConversationEvent } from '../conversation/events.ts';
import { ClaudeTranscript } from '../transcripts/claude/transcript.ts';
import { earliest } from '../transcripts/claude/transcript-events.ts';
import type { TranscriptDiagnostics } from '../transcripts/diagnostics.ts';
import { OpenCodeTranscript } from '../transcripts/opencode/transcript-events.ts';
import { transcriptToEvents } from '../transcripts/parse-transcript.ts';
import { readOnDemand, readOpened } from './chunk-reader.ts';
import { findAgentFiles, readMeta } from './claude-files.ts';
import { FileCursor } from './file-cursor.ts';
import { loadTranscript } from './load-transcript.ts';
import { locateTranscript, openSource, type TranscriptOptions, type TranscriptPlace } from './locate-transcript.ts';
import { familyOf } from './opencode-source.ts';

/**
 * The events of a transcript, read while they are iterated.
 *
 * Contract: each iteration reads anew. `diagnostics` tells of the newest one, in full when that has ended.
 */
export interface TranscriptReading extends AsyncIterable<ConversationEvent> {
  readonly diagnostics: TranscriptDiagnostics;
}

/**
 * Reads a transcript from one event to the next. What it holds in memory is a chunk of each file, the ids of the lines so far (to
 * know repeated ones) and what is open; never the conversation, and nothing of the progress lines that most of a file is made of.
 */
export function readTranscript(path: string, options: TranscriptOptions = {}): TranscriptReading {
  let report: () => TranscriptDiagnostics = () => ({ counts: {}, unknown: {}, problems: [] });
  const begin = (diagnostics: () => TranscriptDiagnostics): void => {
    report = diagnostics;
  };
  return {
    [Symbol.asyncIterator]() {
      return flat(readBatches(path, options, begin));
    },
    get diagnostics() {
      return report();
    },
  };
}

const CHUNK = 1024 * 1024;
/** How many events are read before they are handed on. */
const BATCH = 64;
/** There can be hundreds of subagents, and all of them are being read. */
const AGENT_CHUNK = 256 * 1024;

type Begin = (diagnostics: () => TranscriptDiagnostics) => void;

/** One event after the other. Within a batch the next one is there at once, which is what makes a hundred thousand of them cheap. */
function flat(batches: AsyncGenerator<readonly ConversationEvent[]>): AsyncIterableIterator<ConversationEvent> {
  let batch: readonly ConversationEvent[] = [];
  let position = 0;
  const next = async (): Promise<IteratorResult<ConversationEvent>> => {
    while (position >= batch.length) {
      const result = await batches.next();
      if (result.done) return { done: true, value: undefined };
      batch = result.value;
      position = 0;
    }
    return { done: false, value: batch[position++] as ConversationEvent };
  };
  return {
    next,
    async return() {
      await batches.return(undefined);
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* readBatches(
  path: string,
  options: TranscriptOptions,
  begin: Begin,
): AsyncGenerator<readonly ConversationEvent[]> {
  const place = await locateTranscript(path, options);
  if (place.kind === 'claude-file') yield* readClaude(place.path, begin);
  else if (place.kind === 'opencode-export') yield await readExport(place.path, begin);
  else yield* readSource(place, begin);
}

async function* readClaude(path: string, begin: Begin): AsyncGenerator<readonly ConversationEvent[]> {
  const transcript = new ClaudeTranscript();
  begin(() => transcript.diagnostics);
  const cursors = [new FileCursor(transcript, transcript.open({}), await readOpened(path, CHUNK))];
  try {
    for (const file of await findAgentFiles(path)) {
      const meta = await readMeta(dirname(path), file);
      const thread = transcript.open({ agentId: file.agentId, meta });
      cursors.push(new FileCursor(transcript, thread, readOnDemand(file.path, AGENT_CHUNK)));
    }
    let batch: ConversationEvent[] = [];
    const reading: FileCursor[] = [];
    for (const cursor of cursors) if (await cursor.advance()) reading.push(cursor);
    while (reading.length > 0) {
      const next = reading.length === 1 ? 0 : earliest(reading);
      const cursor = reading[next];
      if (cursor?.head === undefined) break;
      for (const event of transcript.add(cursor.head) ?? []) batch.push(event);
      if (batch.length >= BATCH) {
        yield batch;
        batch = [];
      }
      const more = cursor.advance();
      if (!(typeof more === 'boolean' ? more : await more)) reading.splice(next, 1);
    }
    yield batch;
    yield transcript.finish();
  } finally {
    for (const cursor of cursors) await cursor.close();
  }
}

/** An export is one JSON text: there is no reading a part of it. */
async function readExport(path: string, begin: Begin): Promise<readonly ConversationEvent[]> {
  const { architecture, raw } = await loadTranscript(path);
  const { events, diagnostics } = transcriptToEvents(architecture, raw);
  begin(() => diagnostics);
  return events;
}

async function* readSource(
  place: Extract<TranscriptPlace, { kind: 'opencode-database' | 'opencode-storage' }>,
  begin: Begin,
): AsyncGenerator<readonly ConversationEvent[]> {
  const source = await openSource(place);
  try {
    const family = familyOf(source, place.sessionId);
    const transcript = new OpenCodeTranscript(family.map((session) => source.read(session)));
    begin(() => transcript.diagnostics);
    yield* transcript.read();
  } finally {
    await source.close();
  }
}
