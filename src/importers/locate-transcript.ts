/** From a path and perhaps a session's id to the place where that session is kept. */
import { stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { HoldfastError } from '../core/errors.ts';
import { findTranscripts } from './find-transcripts.ts';
import { openOpenCodeDatabase } from './opencode-database.ts';
import type { OpenCodeSource } from './opencode-source.ts';
import { openOpenCodeStorage } from './opencode-storage.ts';
import { checkSessionId, openFile, resolvePath } from './safe-files.ts';

/** Options of `loadTranscript` and `readTranscript`. */
export interface TranscriptOptions {
  /** Which session, where a path holds several: a database, a storage folder, a folder of projects. */
  readonly sessionId?: string;
}

/** Where a session is kept. Paths have no links in them. */
export type TranscriptPlace =
  | { readonly kind: 'claude-file'; readonly path: string }
  | { readonly kind: 'opencode-export'; readonly path: string }
  | { readonly kind: 'opencode-database' | 'opencode-storage'; readonly path: string; readonly sessionId?: string };

const SQLITE_MAGIC = 'SQLite format 3\0';

/** Finds the place; what there is not is an error that says so. */
export async function locateTranscript(path: string, options: TranscriptOptions = {}): Promise<TranscriptPlace> {
  const named = options.sessionId === undefined ? undefined : checkSessionId(options.sessionId);
  const real = await resolvePath(path);
  const session = named === undefined ? {} : { sessionId: named };
  if (!(await isDirectory(real))) return await placeOfFile(real, session);
  if (await isStorage(real)) return { kind: 'opencode-storage', path: real, ...session };
  const found = await findTranscripts(real);
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
  const { path: place, sessionId, architecture } = newest;
  if (architecture === 'claude-sdk') return { kind: 'claude-file', path: place };
  if (await isStorage(place)) return { kind: 'opencode-storage', path: place, sessionId };
  return await placeOfFile(place, { sessionId });
}

/** Opens the source that a place names. */
export async function openSource(
  place: Extract<TranscriptPlace, { kind: 'opencode-database' | 'opencode-storage' }>,
): Promise<OpenCodeSource> {
  return place.kind === 'opencode-database' ? await openOpenCodeDatabase(place.path) : openOpenCodeStorage(place.path);
}

async function placeOfFile(path: string, session: { readonly sessionId?: string }): Promise<TranscriptPlace> {
  if (await isDatabase(path)) return { kind: 'opencode-database', path, ...session };
  if (extname(path) !== '.json') return { kind: 'claude-file', path };
  const storage = dirname(dirname(dirname(path)));
  const isSession = basename(dirname(dirname(path))) === 'session' && (await isStorage(storage));
  return isSession
    ? { kind: 'opencode-storage', path: storage, sessionId: checkSessionId(basename(path, '.json')) }
    : { kind: 'opencode-export', path };
}

async function isStorage(path: string): Promise<boolean> {
  return (await isDirectory(join(path, 'session'))) && (await isDirectory(join(path, 'message')));
}

async function isDirectory(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

async function isDatabase(path: string): Promise<boolean> {
  const handle = await openFile(path);
  try {
    const head = Buffer.alloc(SQLITE_MAGIC.length);
    await handle.read(head, 0, head.length, 0);
    return head.toString('latin1') === SQLITE_MAGIC;
  } finally {
    await handle.close();
  }
}
