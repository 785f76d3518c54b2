/** The files of Claude Code and the Claude Agent SDK: one JSONL file per session, and one per subagent. */
import { basename, dirname, extname } from 'node:path';
import type { ConversationEvent } from '../../conversation/events.ts';
import { claudeFormat } from '../../transcripts/claude/claude-format.ts';
import { convertInOrder } from '../../transcripts/claude/convert-in-order.ts';
import { ClaudeTranscript } from '../../transcripts/claude/transcript.ts';
import type { RawTranscript, SubagentTranscript } from '../../transcripts/raw-transcript.ts';
import { readOnDemand, readOpened } from '../chunk-reader.ts';
import { readText } from '../safe-files.ts';
import type { OnDiagnostics, TranscriptSource } from '../transcript-source.ts';
import { FileCursor } from './file-cursor.ts';
import { findAgentFiles, readMeta, type SharedFolders } from './session-files.ts';
import { summarizeSession } from './summarize-session.ts';

const CHUNK = 1024 * 1024;
/** A session can have hundreds of subagents, and all their files are read at once. */
const AGENT_CHUNK = 256 * 1024;
/** How many events are read before they are passed on. */
const BATCH = 64;

export const claudeSource: TranscriptSource = {
  format: claudeFormat,
  innerFolders: ['subagents', 'tool-results'],
  detect: async ({ kind, path }) => (kind === 'file' && extname(path) !== '.json' ? { path } : undefined),
  startSearch() {
    const folders: SharedFolders = new Map();
    return async ({ kind, path }) => {
      const name = basename(path);
      if (kind !== 'file' || !name.endsWith('.jsonl') || name.startsWith('agent-')) return undefined;
      const session = await summarizeSession(path, folders);
      return session && [session];
    };
  },
  load: ({ path }) => loadSession(path),
  read: ({ path }, onDiagnostics) => readSession(path, onDiagnostics),
};

async function loadSession(path: string): Promise<RawTranscript> {
  const main = await readText(path);
  const subagents: SubagentTranscript[] = [];
  for (const file of await findAgentFiles(path)) {
    const meta = await readMeta(dirname(path), file);
    subagents.push({
      id: file.agentId,
      transcript: await readText(file.path),
      ...(meta !== undefined && { meta }),
    });
  }
  return subagents.length === 0 ? main : { main, subagents };
}

async function* readSession(path: string, onDiagnostics: OnDiagnostics): AsyncGenerator<readonly ConversationEvent[]> {
  const transcript = new ClaudeTranscript();
  onDiagnostics(() => transcript.diagnostics);
  const cursors = [new FileCursor(transcript, transcript.open({}), await readOpened(path, CHUNK))];
  try {
    for (const file of await findAgentFiles(path)) {
      const meta = await readMeta(dirname(path), file);
      const opened = transcript.open({ agentId: file.agentId, meta });
      cursors.push(new FileCursor(transcript, opened, readOnDemand(file.path, AGENT_CHUNK)));
    }
    let batch: ConversationEvent[] = [];
    for (const step of convertInOrder(transcript, cursors)) {
      if (step instanceof Promise) {
        await step;
        continue;
      }
      for (const event of step.events) batch.push(event);
      if (batch.length < BATCH) continue;
      yield batch;
      batch = [];
    }
    yield batch;
  } finally {
    for (const cursor of cursors) await cursor.close();
  }
}
