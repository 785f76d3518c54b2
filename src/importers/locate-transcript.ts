/** From a path, and perhaps a session id, to the source that reads it and the place where the session is stored. */
import { stat } from 'node:fs/promises';
import { HoldfastError } from '../core/errors.ts';
import { combinedFileSource } from './combined-file.ts';
import { findWith } from './find-transcripts.ts';
import { checkSessionId, listDirectory, notRegular, resolvePath, subfoldersOf } from './safe-files.ts';
import type { FileOrFolder, TranscriptPlace, TranscriptSource } from './transcript-source.ts';
import { entriesOf, type TranscriptSources } from './transcript-sources.ts';

/** Options of `loadTranscript` and `readTranscript`. */
export interface TranscriptOptions {
  /** Which session, where a path holds several: a database, a storage folder, a folder of projects. */
  readonly sessionId?: string;
}

/** A session's place, and what reads it. */
export interface LocatedTranscript<A extends string> {
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
