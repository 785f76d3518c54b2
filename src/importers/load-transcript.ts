/** Loads transcripts into memory, in the form that `parseTranscript` takes. */

import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { HoldfastError } from '../core/errors.ts';
import type { Architecture } from '../transcripts/agent-names.ts';
import { asObject, asText, parseJson } from '../transcripts/json-access.ts';
import { type RawTranscript, startsCombined } from '../transcripts/raw-transcript.ts';
import { findWith } from './find-transcripts.ts';
import {
  checkSessionId,
  listDirectory,
  notRegular,
  readHeadSync,
  readText,
  resolvePath,
  subfoldersOf,
} from './safe-files.ts';
import { type FileOrFolder, readLoaded, type TranscriptPlace, type TranscriptSource } from './transcript-source.ts';
import { entriesOf, TRANSCRIPT_SOURCES, type TranscriptSources } from './transcript-sources.ts';

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

/** How much of a file shows that it is a combined transcript. */
const HEAD_BYTES = 1024;

/** Options of `loadTranscript` and `readTranscript`. */
export interface TranscriptOptions {
  /** Which session, where a path holds several: a database, a storage folder, a folder of projects. */
  readonly sessionId?: string;
}

/** A session's place, and what reads it. */
interface LocatedTranscript<A extends string> {
  readonly architecture: A;
  readonly source: Pick<TranscriptSource, 'load' | 'read'>;
  readonly place: TranscriptPlace;
}

/** Locates a session. Throws `CONVERSATION_NOT_FOUND` when there is none, `INVALID_ARGUMENT` when the caller has to name one of several. */
export async function locateTranscript<A extends string>(
  sources: TranscriptSources<A>,
  path: string,
  options: TranscriptOptions,
): Promise<LocatedTranscript<A>> {
  const named = options.sessionId === undefined ? undefined : checkSessionId(options.sessionId);
  const item = await openPath(await resolvePath(path));
  const combined = item.kind === 'file' ? await combinedFileSource(sources, item.path) : undefined;
  if (combined !== undefined) return { ...combined, place: { path: item.path } };
  for (const [architecture, source] of entriesOf(sources)) {
    const place = await source.detect(item);
    if (place !== undefined) {
      return { architecture, source, place: { ...(named !== undefined && { sessionId: named }), ...place } };
    }
  }
  const found = await findWith(sources, item.path);
  const candidates = found.filter(({ sessionId }) => named === undefined || sessionId === named);
  const [newest] = candidates;
  if (newest === undefined) {
    throw new HoldfastError('CONVERSATION_NOT_FOUND', `there is no transcript of ${named ?? 'any session'} in ${path}`);
  }
  if (named === undefined && candidates.length > 1) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `there are ${candidates.length} transcripts in ${path}; name one with the option sessionId (findTranscripts lists them)`,
    );
  }
  const { architecture, sessionId } = newest;
  return { architecture, source: sources[architecture], place: { path: newest.path, sessionId } };
}

async function openPath(path: string): Promise<FileOrFolder> {
  const found = await stat(path);
  if (found.isDirectory()) return { kind: 'folder', path, subfolders: subfoldersOf(await listDirectory(path)) };
  if (found.isFile()) return { kind: 'file', path };
  throw notRegular(path);
}

/**
 * The source of a combined transcript in a file of its own, the JSON of `{ main, subagents }`: the format is the one that detects its main text. `undefined` for
 * other files.
 */
async function combinedFileSource<A extends string>(
  sources: TranscriptSources<A>,
  path: string,
): Promise<{ readonly architecture: A; readonly source: Pick<TranscriptSource, 'load' | 'read'> } | undefined> {
  if (extname(path) !== '.json') return undefined;
  if (!startsCombined(readHeadSync(path, HEAD_BYTES))) return undefined;
  const main = asText(asObject(parseJson(await readText(path)))?.main);
  const entry = main === undefined ? undefined : entriesOf(sources).find(([, { format }]) => format.detect(main));
  if (entry === undefined) return undefined;
  const [architecture, { format }] = entry;
  const load: TranscriptSource['load'] = (place) => readText(place.path);
  return { architecture, source: { load, read: (...args) => readLoaded({ format, load }, ...args) } };
}
