/** The sessions of OpenCode: in its database (since 1.2), in a storage folder (before), or exported to a JSON file. */

import { stat } from 'node:fs/promises';
import { basename, dirname, extname, join, relative, sep } from 'node:path';
import type { ConversationEvent } from '../../conversation/events.ts';
import { present } from '../../conversation/same-value.ts';
import { asName, asText } from '../../transcripts/json-access.ts';
import { type OpenCodeExport, parseExport } from '../../transcripts/opencode/export.ts';
import { OpenCodeTranscript, openCodeFormat } from '../../transcripts/opencode/opencode-format.ts';
import { isoTime, timeField } from '../../transcripts/opencode/time.ts';
import type { RawTranscript } from '../../transcripts/raw-transcript.ts';
import { sessionTitle } from '../../transcripts/text-lines.ts';
import { checkSessionId, listDirectory, readFileBelow, readHeadSync, readText } from '../safe-files.ts';
import {
  type FileOrFolder,
  type FoundRows,
  type FoundSession,
  type OnDiagnostics,
  type ReportProblem,
  type RowRecord,
  type RowsReader,
  readLoaded,
  type SessionFile,
  type TranscriptPlace,
  type TranscriptSource,
} from '../transcript-source.ts';
import { openOpenCodeDatabase } from './database.ts';
import { familiesIn, familyOf, type OpenCodeSession, type OpenCodeSessions } from './sessions.ts';
import { openOpenCodeStorage } from './storage.ts';

/** What `opencode export` prints, and a list of messages alone. */
const EXPORT_HEAD = /^(?:\xEF\xBB\xBF)?\s*(?:\{\s*"(?:info|messages)"|\[\s*\{\s*"(?:info|parts)")\s*:/;
const EXPORT_HEAD_BYTES = 256;
const SQLITE_MAGIC = 'SQLite format 3\0';

export const openCodeSource: TranscriptSource = {
  format: openCodeFormat,
  defaultRoots(env, home) {
    const folder = join(env.XDG_DATA_HOME || join(home, '.local', 'share'), 'opencode');
    return env.OPENCODE_DB ? [folder, env.OPENCODE_DB] : [folder];
  },
  innerFolders: [],
  detect: detectSessions,
  startSearch: (report) => (item) => findSessions(item, report),
  startListing: () => listExport,
  async openRows(item) {
    const isSource = item.kind === 'file' ? isDatabaseName(item.path) : hasStorage(item.subfolders);
    if (!isSource) return undefined;
    const sessions = await openSessions(item.path);
    return sessions && rowsOf(item.path, sessions);
  },
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

async function findSessions(item: FileOrFolder, report: ReportProblem): Promise<readonly FoundSession[] | undefined> {
  const { path } = item;
  const summarize = (sessions: OpenCodeSessions): readonly FoundSession[] => summarizeSessions(path, sessions);
  if (item.kind === 'folder') {
    if (!hasStorage(item.subfolders)) return undefined;
    return await withSessions(openOpenCodeStorage(path), summarize);
  }
  if (isDatabaseName(path)) return await withSessions(await openOpenCodeDatabase(path), summarize);
  if (extname(path) !== '.json') return undefined;
  if (EXPORT_HEAD.test(readHeadSync(path, EXPORT_HEAD_BYTES))) return await summarizeExport(path, report);
  // The usual name alone: it may be another program's file, and is no problem then.
  return path.endsWith('export.json') ? await summarizeExport(path, () => {}) : undefined;
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

/** The text of an export, and its children that are beside it. */
async function readExport(path: string): Promise<{ main: string; children: readonly ChildExport[] }> {
  const main = await readText(path);
  const parsed = parseExport(main);
  return { main, children: parsed === undefined ? [] : await findChildExports(path, parsed) };
}

async function loadExport(path: string): Promise<RawTranscript> {
  const { main, children } = await readExport(path);
  const subagents = children.map(({ id, transcript }) => ({ id, transcript }));
  return children.length === 0 ? main : { main, subagents };
}

function combineExports(main: OpenCodeExport | undefined, children: readonly OpenCodeExport[]): RawTranscript {
  const text = (session: OpenCodeExport | undefined): string =>
    JSON.stringify({ info: session?.info ?? {}, messages: [...(session?.messages ?? [])] });
  if (children.length === 0) return text(main);
  const subagents = children.map((child) => ({ id: String(child.info.id), transcript: text(child) }));
  return { main: text(main), subagents };
}

function hasStorage(subfolders: ReadonlySet<string>): boolean {
  return subfolders.has('session') && subfolders.has('message');
}

function isDatabaseName(path: string): boolean {
  return /^opencode.*\.db$/.test(basename(path));
}

/** An export and those of its children that are beside it. */
async function listExport({ path }: TranscriptPlace): Promise<readonly SessionFile[]> {
  const { children } = await readExport(path);
  const nameOf = (file: string): string => relative(dirname(path), file).split(sep).join('/');
  return [
    { name: basename(path), path, role: 'main' },
    ...children.map(({ id, path: file }) => ({
      name: nameOf(file),
      path: file,
      role: 'subagent' as const,
      agentId: id,
    })),
  ];
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
  return readHeadSync(path, SQLITE_MAGIC.length) === SQLITE_MAGIC;
}

/** Opened sessions as rows: each session and its descendants, one JSON text per session and per message (D75). */
function rowsOf(path: string, sessions: OpenCodeSessions): RowsReader {
  const all = new Map(sessions.list().map((session) => [session.id, session]));
  const familyIn = familiesIn([...all.values()]);
  return {
    list() {
      const stamps = sessions.stamps?.();
      return summarizeSessions(path, sessions).flatMap((found): readonly FoundRows[] => {
        const main = all.get(found.sessionId);
        const family = main ? familyIn(main) : [];
        const members = family.map(({ id, info }) => {
          const rows = stamps?.get(id);
          return rows === undefined ? { id } : { id, stamp: `${JSON.stringify(info.time)} ${rows}` };
        });
        return [{ found, members }];
      });
    },
    *read(memberId): Generator<RowRecord> {
      const session = all.get(memberId);
      if (!session) return;
      const { info, messages } = sessions.read(session);
      yield { type: 'session', info };
      for (const message of messages) yield { type: 'message', info: message.info, parts: message.parts };
    },
    close: () => sessions.close(),
  };
}

const MAX_BYTES = 64 * 1024 * 1024;

/** The export of a child session. */
interface ChildExport {
  readonly id: string;
  readonly parentId: string;
  readonly transcript: string;
  readonly path: string;
}

/** The descendants of an exported session whose exports are beside it: in its folder or in the folder `children` below that. */
async function findChildExports(path: string, main: OpenCodeExport): Promise<readonly ChildExport[]> {
  const directory = dirname(path);
  const candidates: ChildExport[] = [];
  for (const folder of [directory, join(directory, 'children')]) {
    for (const entry of await listDirectory(folder)) {
      if (!entry.isFile() || !entry.name.endsWith('.json')) continue;
      const transcript = await readFileBelow(directory, join(folder, entry.name), MAX_BYTES);
      const info = transcript === undefined ? undefined : parseExport(transcript)?.info;
      const id = asName(info?.id);
      const parentId = asName(info?.parentID);
      if (transcript !== undefined && id !== undefined && parentId !== undefined) {
        candidates.push({ id, parentId, transcript, path: join(folder, entry.name) });
      }
    }
  }
  const [, ...found] = familiesIn(candidates)({ id: asName(main.info.id) ?? '', parentId: '', transcript: '', path });
  return found;
}

const MAX_EXPORT_BYTES = 64 * 1024 * 1024;

/** Summarizes the sessions of a database or a storage folder that have no parent. */
function summarizeSessions(path: string, sessions: OpenCodeSessions): readonly FoundSession[] {
  const all = sessions.list();
  const familyIn = familiesIn(all);
  const roots = all.filter(({ parentId }) => parentId === undefined);
  return roots.map((session) => summarize(path, session, familyIn(session).length - 1));
}

/** Summarizes an exported session; `undefined` for the export of a child. `report` receives an export that is too large. */
async function summarizeExport(path: string, report: ReportProblem): Promise<readonly FoundSession[] | undefined> {
  const { size } = await stat(path);
  if (size > MAX_EXPORT_BYTES) {
    const why = `it has ${size} bytes, and exports of more than ${MAX_EXPORT_BYTES} are not read`;
    report({ code: 'too-large', path, message: `${why}; name OpenCode's own database instead` });
    return undefined;
  }
  const exported = parseExport((await readFileBelow(dirname(path), path, MAX_EXPORT_BYTES)) ?? '');
  const id = asName(exported?.info.id);
  if (exported === undefined || id === undefined || asName(exported.info.parentID) !== undefined) return undefined;
  const messages = [...exported.messages].length;
  return [summarize(path, { id, parentId: undefined, info: exported.info, messages }, 0)];
}

function summarize(path: string, session: OpenCodeSession, subagents: number): FoundSession {
  const { info } = session;
  const title = sessionTitle(asText(info.title));
  const cwd = asName(info.directory);
  const createdAt = isoTime(timeField(info, 'created'));
  const updatedAt = isoTime(timeField(info, 'updated'));
  return {
    path,
    sessionId: session.id,
    ...present({ title, cwd }),
    ...(createdAt !== '' && { createdAt }),
    ...(updatedAt !== '' && { updatedAt }),
    messages: session.messages,
    subagents,
  };
}
