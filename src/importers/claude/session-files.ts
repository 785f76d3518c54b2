/** The files of one Claude Code session: the main one, and those of its subagents below or beside it. */
import { basename, dirname, join } from 'node:path';
import { isCompactionRun } from '../../transcripts/claude/transcript.ts';
import { PREFIX_LENGTH, parseLine } from '../../transcripts/claude/transcript-line.ts';
import { asName, type Json } from '../../transcripts/json-access.ts';
import { isSafeId, listDirectory, openFile, readFileBelow } from '../safe-files.ts';

/** A subagent's file. */
interface AgentFile {
  readonly agentId: string;
  readonly path: string;
}

/** Workflows keep their subagents a few folders down; Claude Code nests no deeper. */
const MAX_DEPTH = 4;
const MAX_META_BYTES = 1024 * 1024;
const SAMPLE_BYTES = 64 * 1024;
const MAX_COUNTED_BYTES = 32 * 1024 * 1024;
const NEWLINE = 10;

/** For folders that many sessions share: the subagents' files in each, by session. Read once per search. */
export type SharedFolders = Map<string, Promise<ReadonlyMap<string, readonly AgentFile[]>>>;

/** The subagents' files of the session whose main file is `path`, without those of compaction runs. */
export async function findAgentFiles(path: string, folders: SharedFolders = new Map()): Promise<readonly AgentFile[]> {
  const directory = dirname(path);
  const name = basename(path, '.jsonl');
  const below = await agentFilesBelow(join(directory, name, 'subagents'), MAX_DEPTH);
  const beside = name.startsWith('agent-') ? [] : await agentFilesBeside(directory, path, folders);
  const known = new Set(below.map(({ agentId }) => agentId));
  return [...below, ...beside.filter(({ agentId }) => !known.has(agentId))];
}

/** The `.meta.json` beside a subagent's file. */
export async function readMeta(root: string, { path }: AgentFile): Promise<string | undefined> {
  return await readFileBelow(root, path.replace(/\.jsonl$/, '.meta.json'), MAX_META_BYTES);
}

/** The first or the last lines of a file: the complete lines within a sample of fixed size. */
export async function sampleLines(path: string, where: 'head' | 'tail' = 'head'): Promise<readonly Json[]> {
  const handle = await openFile(path);
  try {
    const { size } = await handle.stat();
    const from = where === 'head' ? 0 : Math.max(0, size - SAMPLE_BYTES);
    const buffer = Buffer.alloc(Math.min(SAMPLE_BYTES, size - from));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, from);
    const lines = buffer.toString('utf8', 0, bytesRead).split('\n');
    if (from > 0) lines.shift();
    if (from + bytesRead < size) lines.pop();
    return lines.flatMap((line): readonly Json[] => {
      const parsed = parseLine(line);
      return parsed === undefined ? [] : [parsed.line];
    });
  } finally {
    await handle.close();
  }
}

/**
 * The number of messages in a file. Only the start of each line is decoded, where Claude Code writes the role. `undefined` for very
 * large files, because even this would take long.
 */
export async function countMessages(path: string): Promise<number | undefined> {
  const handle = await openFile(path);
  try {
    if ((await handle.stat()).size > MAX_COUNTED_BYTES) return undefined;
    const buffer = await handle.readFile();
    let count = 0;
    for (let start = 0; start < buffer.length; ) {
      const newline = buffer.indexOf(NEWLINE, start);
      const end = newline < 0 ? buffer.length : newline;
      const prefix = buffer.toString('latin1', start, Math.min(end, start + PREFIX_LENGTH));
      if (isMessage(prefix)) count++;
      start = end + 1;
    }
    return count;
  } finally {
    await handle.close();
  }
}

function isMessage(prefix: string): boolean {
  const type = /^\{"type":"([^"]*)"/.exec(prefix)?.[1];
  if (type !== undefined) return type === 'user' || type === 'assistant';
  return !prefix.includes('"type":"progress"') && /"role":"(?:user|assistant)"/.test(prefix);
}

/** The id of the session that lines belong to. */
export function sessionIdOf(lines: readonly Json[]): string | undefined {
  for (const line of lines) {
    const id = asName(line.sessionId);
    if (id !== undefined) return id;
  }
  return undefined;
}

async function agentFilesBelow(directory: string, depth: number): Promise<readonly AgentFile[]> {
  const found: AgentFile[] = [];
  for (const entry of await listDirectory(directory)) {
    const path = join(directory, entry.name);
    if (entry.isDirectory() && depth > 0) found.push(...(await agentFilesBelow(path, depth - 1)));
    else if (entry.isFile()) found.push(...agentFileOf(path));
  }
  return found;
}

/** The old layout: all sessions of a project share one folder, and a subagent's lines name their session. */
async function agentFilesBeside(
  directory: string,
  mainPath: string,
  folders: SharedFolders,
): Promise<readonly AgentFile[]> {
  let folder = folders.get(directory);
  if (!folder) {
    folder = agentFilesBySession(directory);
    folders.set(directory, folder);
  }
  const bySession = await folder;
  if (bySession.size === 0) return [];
  return bySession.get(sessionIdOf(await sampleLines(mainPath)) ?? basename(mainPath, '.jsonl')) ?? [];
}

async function agentFilesBySession(directory: string): Promise<ReadonlyMap<string, readonly AgentFile[]>> {
  const entries = (await listDirectory(directory)).filter((entry) => entry.isFile());
  const found = new Map<string, AgentFile[]>();
  for (const file of entries.flatMap((entry) => agentFileOf(join(directory, entry.name)))) {
    const sessionId = sessionIdOf(await sampleLines(file.path));
    if (sessionId === undefined) continue;
    const files = found.get(sessionId);
    if (files) files.push(file);
    else found.set(sessionId, [file]);
  }
  return found;
}

function agentFileOf(path: string): readonly AgentFile[] {
  const agentId = /^agent-(.+)\.jsonl$/.exec(basename(path))?.[1];
  return agentId === undefined || !isSafeId(agentId) || isCompactionRun(agentId) ? [] : [{ agentId, path }];
}
