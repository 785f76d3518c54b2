/** Loads transcripts into memory, in the form that `parseTranscript` takes. */

import type { Architecture } from '../transcripts/agent-names.ts';
import type { RawTranscript } from '../transcripts/raw-transcript.ts';
import { locateTranscript, type TranscriptOptions } from './locate-transcript.ts';
import { TRANSCRIPT_SOURCES, type TranscriptSources } from './transcript-sources.ts';

/** A transcript with those of its subagents, ready to be parsed. */
export interface LoadedTranscript<A extends string = Architecture> {
  readonly architecture: A;
  readonly raw: RawTranscript;
}

/**
 * Loads a session of Claude Code or Codex (its JSONL file, with its subagents' files and those of a fork's past) or of OpenCode (an
 * export, the database, a storage folder). `readTranscript` reads sessions that may not fit into memory.
 */
export function loadTranscript(path: string, options: TranscriptOptions = {}): Promise<LoadedTranscript> {
  return loadWith(TRANSCRIPT_SOURCES, path, options);
}

/** Loads a session of the given sources. */
export async function loadWith<A extends string>(
  sources: TranscriptSources<A>,
  path: string,
  options: TranscriptOptions = {},
): Promise<LoadedTranscript<A>> {
  const { architecture, source, place } = await locateTranscript(sources, path, options);
  return { architecture, raw: await source.load(place) };
}
