/** The rollouts of Codex: one JSONL file per thread, of its subagents too; a fork's past is in the file of its parent. */
import { basename, join } from 'node:path';
import type { ConversationEvent } from '../../conversation/events.ts';
import { HoldfastError } from '../../core/errors.ts';
import { codexFormat } from '../../transcripts/codex/codex-format.ts';
import {
  planSession,
  type Segment,
  type ThreadInfo,
  threadsOf,
} from '../../transcripts/codex/rollouts/session-plan.ts';
import { CodexTranscript } from '../../transcripts/codex/transcript.ts';
import { convertThreads } from '../../transcripts/codex/transcript-events.ts';
import type { RawTranscript, SubagentTranscript } from '../../transcripts/raw-transcript.ts';
import { readOnDemand, readOpened } from '../chunk-reader.ts';
import { notOneText, readHeadSync, readText } from '../safe-files.ts';
import {
  type FileOrFolder,
  inBatches,
  type OnDiagnostics,
  type SessionFile,
  type TranscriptPlace,
  type TranscriptSource,
} from '../transcript-source.ts';
import { isCompressed, readCompressed, unpack } from './compressed-file.ts';
import { RolloutCursor } from './rollout-cursor.ts';
import { type ReadRollout, readRollout, rolloutFile } from './rollout-files.ts';
import { RolloutCatalog, sessionRollouts } from './session-rollouts.ts';
import { summarizeRollout } from './summarize-rollout.ts';

const CHUNK = 1024 * 1024;
/** A session can have hundreds of subagents, and all their files are read at once. */
const AGENT_CHUNK = 256 * 1024;
const ZSTD_MAGIC = '\x28\xb5\x2f\xfd';

export const codexSource: TranscriptSource = {
  format: codexFormat,
  defaultRoots(env, home) {
    const folder = env.CODEX_HOME || join(home, '.codex');
    return [join(folder, 'sessions'), join(folder, 'archived_sessions')];
  },
  innerFolders: [],
  detect: detectRollout,
  startSearch() {
    const catalog = new RolloutCatalog();
    return async (item) => {
      if ((await detectRollout(item)) === undefined) return undefined;
      const rollout = await catalog.read(item.path);
      const session = rollout && (await summarizeRollout(rollout, catalog));
      return session ? [session] : []; // a subagent's file is Codex's, but no session
    };
  },
  startListing() {
    const catalog = new RolloutCatalog();
    return ({ path }) => listFiles(path, catalog);
  },
  load: loadSession,
  read: readSession,
};

async function detectRollout({ kind, path }: FileOrFolder): Promise<TranscriptPlace | undefined> {
  if (kind !== 'file') return undefined;
  if (rolloutFile(path) !== undefined) return { path };
  const name = basename(path);
  if (name.endsWith('.jsonl.zst')) return readHeadSync(path, 4) === ZSTD_MAGIC ? { path } : undefined;
  if (!name.endsWith('.jsonl')) return undefined;
  return /^\{"timestamp":"[^"]*",(?:"ordinal":\d+,)?"type":"session_meta",/.test(readHeadSync(path, 200))
    ? { path }
    : undefined;
}

/** The main rollout at a path, and the others of its session. */
async function openSession(path: string): Promise<{ main: ReadRollout; others: readonly ReadRollout[] }> {
  const found = await readRollout(path);
  const main = found ?? { path, start: '', threadId: 'main', rolloutId: 'main', meta: undefined };
  return { main, others: await sessionRollouts(main, new RolloutCatalog()) };
}

/** The files of a session: those of its subagents and of its past, too, wherever they are. Their names are unique. */
async function listFiles(path: string, catalog: RolloutCatalog): Promise<readonly SessionFile[]> {
  if (isCompressed(path)) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `${path} is compressed, and only its lines can be imported; unpack it with: zstd -d (loadTranscript reads it as it is)`,
    );
  }
  const main = await catalog.read(path);
  const others = main === undefined ? [] : await sessionRollouts(main, catalog);
  const files: SessionFile[] = [{ name: basename(path), path, role: 'main' }];
  for (const other of others) {
    if (isCompressed(other.path)) continue;
    files.push({ name: basename(other.path), path: other.path, role: 'subagent', agentId: other.rolloutId });
  }
  return files;
}

async function loadSession({ path }: TranscriptPlace): Promise<RawTranscript> {
  const { others } = await openSession(path);
  const { text, ...torn } = await loadText(path);
  if (others.length === 0 && !torn.isTorn) return text;
  const subagents: SubagentTranscript[] = [];
  for (const rollout of others) {
    const { text: transcript, ...state } = await loadText(rollout.path);
    subagents.push({ id: rollout.rolloutId, transcript, ...state });
  }
  return { main: text, subagents, ...torn };
}

async function loadText(path: string): Promise<{ readonly text: string; readonly isTorn?: true }> {
  if (!isCompressed(path)) return { text: await readText(path) };
  const pieces: Buffer[] = [];
  const state: { isTorn?: true } = {};
  for await (const piece of unpack(path, () => {
    state.isTorn = true;
  })) {
    pieces.push(piece);
  }
  try {
    return { text: Buffer.concat(pieces).toString('utf8'), ...state };
  } catch (error) {
    throw notOneText(path, error);
  }
}

async function* readSession(
  { path }: TranscriptPlace,
  onDiagnostics: OnDiagnostics,
): AsyncGenerator<readonly ConversationEvent[]> {
  const transcript = new CodexTranscript();
  onDiagnostics(() => transcript.diagnostics);
  const { main, others } = await openSession(path);
  const plan = planSession(main, others);
  transcript.reportPlan(plan);
  const cursors = threadsOf(plan).map(({ info, segments }) => cursorOf(transcript, segments, info));
  try {
    yield* inBatches(convertThreads(transcript, cursors));
  } finally {
    for (const cursor of cursors) await cursor.close();
  }
}

function cursorOf(
  transcript: CodexTranscript,
  segments: readonly Segment<ReadRollout>[],
  info: ThreadInfo,
): RolloutCursor {
  const parts = segments.map((segment) => {
    const { path } = segment.rollout;
    const opened = transcript.open(segment, info.isSubagent);
    return {
      opened,
      open: async () => {
        if (isCompressed(path)) return readCompressed(path, () => transcript.report('torn-compression', opened));
        return info.isSubagent ? readOnDemand(path, AGENT_CHUNK) : await readOpened(path, CHUNK);
      },
    };
  });
  return new RolloutCursor(transcript, info, parts);
}
