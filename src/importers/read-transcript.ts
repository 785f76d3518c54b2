/** Reads transcripts of any size, one event at a time. */
import type { ConversationEvent } from '../conversation/events.ts';
import type { TranscriptDiagnostics } from '../transcripts/diagnostics.ts';
import { locateTranscript, type TranscriptOptions } from './load-transcript.ts';
import type { OnDiagnostics } from './transcript-source.ts';
import { TRANSCRIPT_SOURCES, type TranscriptSources } from './transcript-sources.ts';

/**
 * The events of a transcript, read while they are iterated.
 *
 * Contract: each iteration reads the transcript again. `diagnostics` reports on the newest iteration and is complete when that has
 * ended.
 */
export interface TranscriptReading extends AsyncIterable<ConversationEvent> {
  readonly diagnostics: TranscriptDiagnostics;
  /** The same events in batches, for `reduceConversationEvents`: an event by itself costs a promise. */
  batches(): AsyncIterable<readonly ConversationEvent[]>;
}

/**
 * Reads a transcript one event at a time. It holds in memory a chunk of each file, the ids of the lines read so far (to recognise
 * repeated ones) and the open blocks; never the conversation, and nothing of the progress lines that make up most of a file.
 */
export function readTranscript(path: string, options: TranscriptOptions = {}): TranscriptReading {
  return readWith(TRANSCRIPT_SOURCES, path, options);
}

/** Reads a session of the given sources. */
export function readWith(
  sources: TranscriptSources<string>,
  path: string,
  options: TranscriptOptions = {},
): TranscriptReading {
  let report: () => TranscriptDiagnostics = () => ({ counts: {}, unknown: {}, problems: [] });
  const onDiagnostics: OnDiagnostics = (diagnostics) => {
    report = diagnostics;
  };
  return {
    [Symbol.asyncIterator]: () => flat(readBatches(sources, path, options, onDiagnostics)),
    batches: () => readBatches(sources, path, options, onDiagnostics),
    get diagnostics() {
      return report();
    },
  };
}

async function* readBatches(
  sources: TranscriptSources<string>,
  path: string,
  options: TranscriptOptions,
  onDiagnostics: OnDiagnostics,
): AsyncGenerator<readonly ConversationEvent[]> {
  const { source, place } = await locateTranscript(sources, path, options);
  yield* source.read(place, onDiagnostics);
}

/** Iterates the events of batches. Within a batch the next event needs no I/O, which keeps a hundred thousand events cheap. */
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
