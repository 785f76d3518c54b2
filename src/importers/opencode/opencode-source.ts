/** The sessions of OpenCode: in its database (since 1.2), in a storage folder (before), or exported to a JSON file. */
import { stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { ConversationEvent } from '../../conversation/events.ts';
import { type OpenCodeExport, parseExport } from '../../transcripts/opencode/export.ts';
import { openCodeFormat } from '../../transcripts/opencode/opencode-format.ts';
import { OpenCodeTranscript } from '../../transcripts/opencode/transcript-events.ts';
import type { RawTranscript } from '../../transcripts/raw-transcript.ts';
import { checkSessionId, readHead, readText } from '../safe-files.ts';
import {
  type FileOrFolder,
  type FoundSession,
  type OnDiagnostics,
  readLoaded,
  type TranscriptPlace,
  type TranscriptSource,
} from '../transcript-source.ts';
import { findChildExports } from './child-exports.ts';
import { openOpenCodeDatabase } from './database.ts';
import { familyOf, type OpenCodeSessions } from './sessions.ts';
import { openOpenCodeStorage } from './storage.ts';
import { summarizeExport, summarizeSessions } from './summarize-sessions.ts';

const SQLITE_MAGIC = 'SQLite format 3\0';

export const openCodeSource: TranscriptSource = {
  format: openCodeFormat,
  innerFolders: [],
  detect: detectSessions,
  startSearch: () => findSessions,
  async load(place) {
    const sessions = await openSessions(place.path);
    if (sessions === undefined) return await loadExport(place.path);
    return await withSessions(sessions, () => {
      const [main, ...children] = familyOf(sessions, place.sessionId).map((session) => sessions.read(session));
      return combineExports(main, children);
    });
  },
  read: readSession,
};

async function findSessions(item: FileOrFolder): Promise<readonly FoundSession[] | undefined> {
  const { path } = item;
  const summarize = (sessions: OpenCodeSessions): readonly FoundSession[] => summarizeSessions(path, sessions);
  if (item.kind === 'folder') {
    if (!item.subfolders.has('session') || !item.subfolders.has('message')) return undefined;
    return await withSessions(openOpenCodeStorage(path), summarize);
  }
  if (/^opencode.*\.db$/.test(basename(path))) return await withSessions(await openOpenCodeDatabase(path), summarize);
  return path.endsWith('export.json') ? await summarizeExport(path) : undefined;
}

async function detectSessions({ kind, path }: FileOrFolder): Promise<TranscriptPlace | undefined> {
  if (kind === 'folder') return (await isStorage(path)) ? { path } : undefined;
  if (await isDatabase(path)) return { path };
  if (extname(path) !== '.json') return undefined;
  const storage = dirname(dirname(dirname(path)));
  const isSession = basename(dirname(dirname(path))) === 'session' && (await isStorage(storage));
  return isSession ? { path: storage, sessionId: checkSessionId(basename(path, '.json')) } : { path };
}

async function* readSession(
  place: TranscriptPlace,
  onDiagnostics: OnDiagnostics,
): AsyncGenerator<readonly ConversationEvent[]> {
  const sessions = await openSessions(place.path);
  if (sessions === undefined) {
    yield* readLoaded(openCodeSource, place, onDiagnostics); // an export is one JSON text: it cannot be read in parts
    return;
  }
  try {
    const family = familyOf(sessions, place.sessionId);
    const transcript = new OpenCodeTranscript(family.map((session) => sessions.read(session)));
    onDiagnostics(() => transcript.diagnostics);
    yield* transcript.read();
  } finally {
    await sessions.close();
  }
}

/** Opens the database or the storage folder at a path; `undefined` for an export. */
async function openSessions(path: string): Promise<OpenCodeSessions | undefined> {
  if (await isStorage(path)) return openOpenCodeStorage(path);
  return (await isDatabase(path)) ? await openOpenCodeDatabase(path) : undefined;
}

async function withSessions<T>(sessions: OpenCodeSessions, use: (sessions: OpenCodeSessions) => T): Promise<T> {
  try {
    return use(sessions);
  } finally {
    await sessions.close();
  }
}

/** An export, with those of its children that are beside it. */
async function loadExport(path: string): Promise<RawTranscript> {
  const text = await readText(path);
  const main = parseExport(text);
  const children = main === undefined ? [] : await findChildExports(path, main);
  return children.length === 0 ? text : { main: text, subagents: children };
}

function combineExports(main: OpenCodeExport | undefined, children: readonly OpenCodeExport[]): RawTranscript {
  const text = (session: OpenCodeExport | undefined): string =>
    JSON.stringify({ info: session?.info ?? {}, messages: [...(session?.messages ?? [])] });
  if (children.length === 0) return text(main);
  const subagents = children.map((child) => ({ id: String(child.info.id), transcript: text(child) }));
  return { main: text(main), subagents };
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
  return (await readHead(path, SQLITE_MAGIC.length)) === SQLITE_MAGIC;
}
