/** Which sessions there are: a look into every file of Claude Code and every database and folder of OpenCode below a root. */
import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { contentText } from '../transcripts/claude/content.ts';
import { classifyUserText } from '../transcripts/claude/user-text.ts';
import { asName, asObject, asText, type Json } from '../transcripts/json-access.ts';
import { parseExport } from '../transcripts/opencode/export.ts';
import { isoTime, timeField } from '../transcripts/opencode/time.ts';
import type { Architecture } from '../transcripts/source.ts';
import { countMessages, findAgentFiles, type SharedFolders, sampleLines, sessionIdOf } from './claude-files.ts';
import { openOpenCodeDatabase } from './opencode-database.ts';
import type { OpenCodeSession, OpenCodeSource } from './opencode-source.ts';
import { openOpenCodeStorage } from './opencode-storage.ts';
import { listDirectory, readFileBelow, resolvePath } from './safe-files.ts';

/** A session, as far as a short look tells. `loadTranscript(path, { sessionId })` loads it. */
export interface FoundTranscript {
  readonly architecture: Architecture;
  readonly path: string;
  readonly sessionId: string;
  readonly title?: string;
  /** The directory the agent worked in. */
  readonly cwd?: string;
  readonly createdAt?: string;
  readonly updatedAt?: string;
  /** The size of its file; absent where sessions share one. */
  readonly bytes?: number;
  /** Messages of OpenCode, lines of the user and the assistant of Claude Code; absent for very large files. */
  readonly messages?: number;
  readonly subagents: number;
}

const MAX_DEPTH = 8;
const MAX_TITLE = 100;
const MAX_EXPORT_BYTES = 64 * 1024 * 1024;
const NOT_SEARCHED: ReadonlySet<string> = new Set(['node_modules', '.git', 'subagents', 'tool-results']);

/** The sessions below a root (`~/.claude`, `~/.local/share/opencode`, a project's folder, …), the newest first. */
export async function findTranscripts(root: string): Promise<readonly FoundTranscript[]> {
  const found: FoundTranscript[] = [];
  const path = await resolvePath(root);
  const folders: SharedFolders = new Map();
  if ((await stat(path)).isFile()) found.push(...(await lookInto(dirname(path), path, folders)));
  else await search(path, { depth: MAX_DEPTH, found, folders });
  return found.sort((a, b) => ((a.updatedAt ?? '') < (b.updatedAt ?? '') ? 1 : -1));
}

interface Search {
  readonly depth: number;
  readonly found: FoundTranscript[];
  readonly folders: SharedFolders;
}

async function search(directory: string, { depth, found, folders }: Search): Promise<void> {
  const entries = await listDirectory(directory);
  const names = new Set(entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])));
  if (names.has('session') && names.has('message')) {
    const source = openOpenCodeStorage(directory);
    found.push(...summarizeSource(directory, source));
    return;
  }
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      if (depth > 0 && !NOT_SEARCHED.has(entry.name)) await search(path, { depth: depth - 1, found, folders });
    } else if (entry.isFile()) found.push(...(await lookInto(directory, path, folders)));
  }
}

/** The sessions in a file; a file that cannot be read has none. */
async function lookInto(directory: string, path: string, folders: SharedFolders): Promise<readonly FoundTranscript[]> {
  const name = basename(path);
  try {
    if (name.endsWith('.jsonl') && !name.startsWith('agent-')) return await summarizeClaude(path, folders);
    if (/^opencode.*\.db$/.test(name)) return await summarizeDatabase(path);
    if (name.endsWith('export.json')) return await summarizeExport(directory, path);
  } catch {
    // Somebody else's file under a name like ours.
  }
  return [];
}

async function summarizeClaude(path: string, folders: SharedFolders): Promise<readonly FoundTranscript[]> {
  const head = await sampleLines(path, 'head');
  const sessionId = sessionIdOf(head);
  if (sessionId === undefined) return [];
  const { size, mtime } = await stat(path);
  const lines = [...head, ...(await sampleLines(path, 'tail'))];
  const messages = await countMessages(path);
  const times = lines.flatMap((line) => asName(line.timestamp) ?? []);
  const title = titleOf(lines);
  const cwd = lines.map((line) => asName(line.cwd)).find((directory) => directory !== undefined);
  const createdAt = times[0];
  return [
    {
      architecture: 'claude-sdk',
      path,
      sessionId,
      ...(title !== undefined && { title }),
      ...(cwd !== undefined && { cwd }),
      ...(createdAt !== undefined && { createdAt }),
      updatedAt: times.at(-1) ?? mtime.toISOString(),
      bytes: size,
      ...(messages !== undefined && { messages }),
      subagents: (await findAgentFiles(path, folders)).length,
    },
  ];
}

/** What a session is called: as the user or the agent named it, else by the first thing the user asked. */
function titleOf(lines: readonly Json[]): string | undefined {
  const last = (type: string, field: string): string | undefined =>
    asName(lines.findLast((line) => line.type === type && asName(line[field]) !== undefined)?.[field]);
  const prompt = (): string | undefined => {
    for (const line of lines) {
      if (line.type !== 'user' || line.isSidechain === true) continue;
      const text = contentText(asObject(line.message)?.content).trim();
      if (text !== '' && classifyUserText(text, line.isMeta === true).kind === 'prompt') return text;
    }
    return undefined;
  };
  return shorten(
    last('custom-title', 'customTitle') ?? last('ai-title', 'aiTitle') ?? prompt() ?? last('last-prompt', 'lastPrompt'),
  );
}

async function summarizeDatabase(path: string): Promise<readonly FoundTranscript[]> {
  const source = await openOpenCodeDatabase(path);
  try {
    return summarizeSource(path, source);
  } finally {
    await source.close();
  }
}

function summarizeSource(path: string, source: OpenCodeSource): readonly FoundTranscript[] {
  const sessions = source.sessions();
  const children = Map.groupBy(sessions, (session) => session.parentId);
  const countDescendants = (id: string, seen: Set<string>): number => {
    for (const child of children.get(id) ?? []) {
      if (seen.has(child.id)) continue;
      seen.add(child.id);
      countDescendants(child.id, seen);
    }
    return seen.size;
  };
  return (children.get(undefined) ?? []).map((session) =>
    summarizeSession(path, session, countDescendants(session.id, new Set([session.id])) - 1),
  );
}

async function summarizeExport(directory: string, path: string): Promise<readonly FoundTranscript[]> {
  const exported = parseExport((await readFileBelow(directory, path, MAX_EXPORT_BYTES)) ?? '');
  const id = asName(exported?.info.id);
  if (exported === undefined || id === undefined || asName(exported.info.parentID) !== undefined) return [];
  const messages = [...exported.messages].length;
  return [summarizeSession(path, { id, parentId: undefined, info: exported.info, messages }, 0)];
}

function summarizeSession(path: string, session: OpenCodeSession, subagents: number): FoundTranscript {
  const { info } = session;
  const title = shorten(asText(info.title));
  const cwd = asName(info.directory);
  const createdAt = isoTime(timeField(info, 'created'));
  const updatedAt = isoTime(timeField(info, 'updated'));
  return {
    architecture: 'opencode',
    path,
    sessionId: session.id,
    ...(title !== undefined && { title }),
    ...(cwd !== undefined && { cwd }),
    ...(createdAt !== '' && { createdAt }),
    ...(updatedAt !== '' && { updatedAt }),
    messages: session.messages,
    subagents,
  };
}

/** One line of at most so many characters, whole ones. */
function shorten(text: string | undefined): string | undefined {
  const line = text?.trim().split('\n', 1)[0]?.trim();
  if (line === undefined || line === '') return undefined;
  const characters = [...line.slice(0, 2 * MAX_TITLE)];
  return characters.length <= MAX_TITLE ? line : `${characters.slice(0, MAX_TITLE).join('')}…`;
}
