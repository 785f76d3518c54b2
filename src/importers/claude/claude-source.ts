/** The files of Claude Code and the Claude Agent SDK: one JSONL file per session, and one per subagent. */
import { basename, dirname, extname, join } from 'node:path';
import type { ConversationEvent } from '../../conversation/events.ts';
import { claudeFormat } from '../../transcripts/claude/claude-format.ts';
import { convertInOrder, LineCursor } from '../../transcripts/claude/line-cursor.ts';
import { ClaudeTranscript } from '../../transcripts/claude/transcript.ts';
import type { RawTranscript, SubagentTranscript } from '../../transcripts/raw-transcript.ts';
import { type ChunkReader, readOnDemand, readOpened } from '../chunk-reader.ts';
import { readText } from '../safe-files.ts';
import { inBatches, type OnDiagnostics, type ReportProblem, type TranscriptSource } from '../transcript-source.ts';
import { FileLines } from './file-lines.ts';
import { findAgentFiles, listSessionFiles, readMeta, type SharedFolders } from './session-files.ts';
import { summarizeSession } from './summarize-session.ts';

const CHUNK = 1024 * 1024;
/** A session can have hundreds of subagents, and all their files are read at once. */
const AGENT_CHUNK = 256 * 1024;

export const claudeSource: TranscriptSource = {
  format: claudeFormat,
  defaultRoots: (env, home) => [join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'projects')],
  innerFolders: ['subagents', 'tool-results'],
  detect: async ({ kind, path }) => (kind === 'file' && extname(path) !== '.json' ? { path } : undefined),
  startSearch(report) {
    const folders: SharedFolders = new Map();
    return async ({ kind, path }) => {
      const name = basename(path);
      if (kind !== 'file' || !name.endsWith('.jsonl') || name.startsWith('agent-')) return undefined;
      const session = await summarizeSession(path, folders, report);
      return session && [session];
    };
  },
  startListing(report) {
    const folders: SharedFolders = new Map();
    return ({ path }) => listSessionFiles(path, report, folders);
  },
  load: ({ path }) => loadSession(path),
  read: ({ path }, onDiagnostics) => readSession(path, onDiagnostics),
};

async function loadSession(path: string): Promise<RawTranscript> {
  const main = await readText(path);
  const subagents: SubagentTranscript[] = [];
  const skip: ReportProblem = ({ path: skipped }) => {
    subagents.push({ id: basename(skipped, '.jsonl'), transcript: '', unreadable: true });
  };
  for (const file of await findAgentFiles(path, skip)) {
    const { agentId, runId } = file;
    const meta = await readMeta(dirname(path), file);
    try {
      const transcript = await readText(file.path);
      const more = { ...(meta !== undefined && { meta }), ...(runId !== undefined && { runId }) };
      subagents.push({ id: agentId, transcript, ...more });
    } catch {
      subagents.push({ id: agentId, transcript: '', unreadable: true });
    }
  }
  return subagents.length === 0 ? main : { main, subagents };
}

async function* readSession(path: string, onDiagnostics: OnDiagnostics): AsyncGenerator<readonly ConversationEvent[]> {
  const transcript = new ClaudeTranscript();
  onDiagnostics(() => transcript.diagnostics);
  const main = await readOpened(path, CHUNK);
  const cursors = [new LineCursor(transcript, transcript.open({}), new FileLines(main))];
  try {
    const skip: ReportProblem = ({ path: skipped }) => transcript.reportUnreadable(basename(skipped, '.jsonl'));
    for (const file of await findAgentFiles(path, skip)) {
      const { agentId, runId } = file;
      const meta = await readMeta(dirname(path), file);
      const chunks = untilUnreadable(readOnDemand(file.path, AGENT_CHUNK), () => transcript.reportUnreadable(agentId));
      cursors.push(new LineCursor(transcript, transcript.open({ agentId, meta, runId }), new FileLines(chunks)));
    }
    yield* inBatches(convertInOrder(transcript, cursors));
  } finally {
    await main.close();
  }
}

/** A reader that ends where its file can no longer be read, instead of ending the whole session: the file may be deleted meanwhile. */
function untilUnreadable(reader: ChunkReader, onUnreadable: () => void): ChunkReader {
  return {
    async next(rest) {
      try {
        return await reader.next(rest);
      } catch {
        onUnreadable();
        return rest;
      }
    },
    close: () => reader.close(),
  };
}
