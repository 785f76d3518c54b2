/** The files of one Claude Code session: the main one, and those of its subagents below or beside it. */
import { existsSync, lstatSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { messageOf } from '../../core/errors.ts';
import { isWarmup } from '../../transcripts/claude/content.ts';
import { entryOfLine } from '../../transcripts/claude/entry.ts';
import { isSideRequest } from '../../transcripts/claude/transcript.ts';
import { parseLine } from '../../transcripts/claude/transcript-line.ts';
import { workflowRun } from '../../transcripts/raw-transcript.ts';
import { isSafeId, listDirectory, readFileBelow, readHeadSync } from '../safe-files.ts';
import type { ReportProblem, SessionFile } from '../transcript-source.ts';
import { walkFolder } from '../walk-folder.ts';
import { sampleSessionId } from './session-sample.ts';

/** A subagent's file. */
interface AgentFile {
  readonly agentId: string;
  readonly path: string;
  /** The run of the workflow that the subagent belongs to. */
  readonly runId?: string;
}

/** Workflows keep their subagents a few folders down; Claude Code nests no deeper. */
const MAX_DEPTH = 4;
const MAX_META_BYTES = 1024 * 1024;
const HEAD_BYTES = 4096;

/** For folders that many sessions share: the subagents' files in each, by session. Read once per search. */
export type SharedFolders = Map<string, Promise<ReadonlyMap<string, readonly AgentFile[]>>>;

/**
 * The subagents' files of the session whose main file is `path`, without those of requests that the program makes for itself. `report` receives
 * those that cannot be read.
 */
export async function findAgentFiles(
  path: string,
  report: ReportProblem,
  folders: SharedFolders = new Map(),
): Promise<readonly AgentFile[]> {
  return await agentFilesAmong(await filesBelow(subagentsOf(path), MAX_DEPTH, report), path, report, folders);
}

/** The subagents' files of a session, given the files in the folder of its subagents. */
async function agentFilesAmong(
  inFolder: readonly string[],
  path: string,
  report: ReportProblem,
  folders: SharedFolders,
): Promise<readonly AgentFile[]> {
  const below = inFolder.flatMap((file) => agentFileOf(file, report));
  const isAgent = basename(path).startsWith('agent-');
  const beside = isAgent ? [] : await agentFilesBeside(dirname(path), path, folders, report);
  const known = new Set(below.map(({ agentId }) => agentId));
  return [...below, ...beside.filter(({ agentId }) => !known.has(agentId))];
}

/** The folder beside a main file that belongs to its session. */
function folderOf(path: string): string {
  return join(dirname(path), basename(path, '.jsonl'));
}

function subagentsOf(path: string): string {
  return join(folderOf(path), 'subagents');
}

/**
 * All files of the session whose main file is `path`: the main file, each subagent's file with its `.meta.json`, and what else is in the
 * session's folder: spilled output, compaction runs.
 */
export async function listSessionFiles(
  path: string,
  report: ReportProblem,
  folders: SharedFolders,
): Promise<readonly SessionFile[]> {
  const nameOf = (file: string): string => relative(dirname(path), file).split(sep).join('/');
  const files: SessionFile[] = [{ name: basename(path), path, role: 'main' }];
  const inFolder = await filesBelow(folderOf(path), MAX_DEPTH + 1, report);
  const ofAgents = inFolder.filter((file) => file.startsWith(subagentsOf(path) + sep));
  for (const { agentId, path: file } of await agentFilesAmong(ofAgents, path, report, folders)) {
    files.push({ name: nameOf(file), path: file, role: 'subagent', agentId });
    const meta = metaPath(file);
    const isThere = await lstat(meta)
      .then((found) => found.isFile())
      .catch(() => false);
    if (isThere) files.push({ name: nameOf(meta), path: meta, role: 'meta', agentId });
  }
  const known = new Set(files.map((file) => file.path));
  for (const file of inFolder) {
    if (!known.has(file)) files.push({ name: nameOf(file), path: file, role: 'other' });
  }
  return files;
}

async function filesBelow(directory: string, depth: number, report: ReportProblem): Promise<readonly string[]> {
  if (isMissing(directory)) return []; // most sessions have none: faster than an error
  const found: string[] = [];
  await walkFolder(directory, depth, { file: (path) => void found.push(path), report });
  return found;
}

/** Whether a path does not exist. One that may not be looked at does: listing it reports why. */
function isMissing(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/** The `.meta.json` beside a subagent's file. */
export async function readMeta(root: string, { path }: AgentFile): Promise<string | undefined> {
  return await readFileBelow(root, metaPath(path), MAX_META_BYTES);
}

function metaPath(path: string): string {
  return path.replace(/\.jsonl$/, '.meta.json');
}

/** The old layout: all sessions of a project share one folder, and a subagent's lines name their session. */
async function agentFilesBeside(
  directory: string,
  mainPath: string,
  folders: SharedFolders,
  report: ReportProblem,
): Promise<readonly AgentFile[]> {
  let folder = folders.get(directory);
  if (!folder) {
    folder = agentFilesBySession(directory, report);
    folders.set(directory, folder);
  }
  const bySession = await folder;
  if (bySession.size === 0) return [];
  return bySession.get(sampleSessionId(mainPath) ?? basename(mainPath, '.jsonl')) ?? [];
}

async function agentFilesBySession(
  directory: string,
  report: ReportProblem,
): Promise<ReadonlyMap<string, readonly AgentFile[]>> {
  const found = new Map<string, AgentFile[]>();
  const reportAgents: ReportProblem = (problem) => {
    if (basename(problem.path).startsWith('agent-')) report(problem);
  };
  for (const entry of await listDirectory(directory, reportAgents)) {
    const files = entry.isFile() ? agentFileOf(join(directory, entry.name), report) : [];
    for (const file of files) {
      const sessionId = sessionIdOrReport(file.path, report);
      if (sessionId === undefined) continue;
      const known = found.get(sessionId);
      if (known) known.push(file);
      else found.set(sessionId, [file]);
    }
  }
  return found;
}

/** The subagent's file at a path; none for other files, and for the threads that the program starts for itself. */
function agentFileOf(path: string, report: ReportProblem): readonly AgentFile[] {
  const agentId = /^agent-(.+)\.jsonl$/.exec(basename(path))?.[1];
  if (agentId === undefined || !isSafeId(agentId) || isSideRequest(agentId)) return [];
  try {
    // One that has a `.meta.json` was started by a call, whatever its prompt is.
    if (isWarmupHead(readHeadSync(path, HEAD_BYTES)) && !existsSync(metaPath(path))) return [];
  } catch (error) {
    report({ code: 'unreadable', path, message: messageOf(error) });
    return [];
  }
  const runId = workflowRun(path);
  return [{ agentId, path, ...(runId !== undefined && { runId }) }];
}

/** Whether a file starts with the prompt that warms up an agent. */
function isWarmupHead(head: string): boolean {
  const [line] = parseLine(head.split('\n', 1)[0] ?? '')?.lines ?? [];
  return line !== undefined && isWarmup(entryOfLine(line));
}

/** The id of the session that a file belongs to; none, with a report, when it cannot be read. */
function sessionIdOrReport(path: string, report: ReportProblem): string | undefined {
  try {
    return sampleSessionId(path);
  } catch (error) {
    report({ code: 'unreadable', path, message: messageOf(error) });
    return undefined;
  }
}
