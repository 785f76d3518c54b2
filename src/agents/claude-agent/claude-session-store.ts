import { HoldfastError } from '../../core/errors.ts';
import { isRecord } from '../../core/log/message-problem.ts';
import { checkSessionId } from '../../core/log/session-id.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SessionInfo, Store } from '../../ports/store.ts';
import { uniqueId } from '../../session/append/unique-id.ts';
import { systemClock } from '../../stores/system-clock.ts';
import type { CombinedTranscript, SubagentTranscript } from '../../transcripts/raw-transcript.ts';
import type {
  ClaudeSessionKey,
  ClaudeSessionStore,
  ClaudeSessionSummary,
  ClaudeTranscriptEntry,
  FoldSessionSummary,
} from './sdk-types.ts';
import { entryOf, PROJECT, TranscriptLog } from './transcript-log.ts';

/**
 * The Claude Agent SDK's `SessionStore` on a Holdfast store (D27): each transcript is a log of its own, one event per line.
 *
 *     claude:<session id>              the session's transcript; its metadata holds its project keys and the SDK's summary
 *     claude:<session id>/<subpath>    a subagent's
 *
 * The project key does not name a log: a session is found by its id from any working directory, on any machine.
 */

export interface ClaudeSessionStoreOptions {
  /** The SDK's `foldSessionSummary`; by default that of the installed package. */
  readonly foldSessionSummary?: FoldSessionSummary;
  readonly clock?: Clock;
}

const PREFIX = 'claude:';
const PAGE = 200;

/** Keeps the SDK's transcripts in a Holdfast store: `query({ options: { sessionStore: claudeSessionStore(store) } })`. */
export function claudeSessionStore(store: Store, options: ClaudeSessionStoreOptions = {}): ClaudeSessionStore {
  const { clock = systemClock } = options;
  const transcripts = new Map<string, TranscriptLog>();
  const instance = uniqueId();

  const transcriptOf = (id: string): TranscriptLog => {
    let transcript = transcripts.get(id);
    if (!transcript) {
      transcript = new TranscriptLog(store, id, { clock, instance, fold: options.foldSessionSummary });
      transcripts.set(id, transcript);
    }
    return transcript;
  };

  async function* mainLogs(
    projectKey: string,
  ): AsyncIterable<{ readonly sessionId: string; readonly info: SessionInfo }> {
    for await (const info of listAll(store, { idPrefix: PREFIX, metadata: { [PROJECT + projectKey]: true } })) {
      const sessionId = unescaped(info.id.slice(PREFIX.length));
      if (sessionId !== undefined) yield { sessionId, info };
    }
  }

  return {
    async append(key, entries) {
      const id = logId(key);
      if (entries.length > 0) await transcriptOf(id).append(key, entries);
    },
    async load(key) {
      const entries: ClaudeTranscriptEntry[] = [];
      for await (const event of store.read(logId(key))) {
        const entry = entryOf(event);
        if (entry) entries.push(entry);
      }
      return entries.length > 0 ? entries : null;
    },
    async listSessions(projectKey) {
      const sessions: { sessionId: string; mtime: number }[] = [];
      for await (const { sessionId, info } of mainLogs(projectKey)) sessions.push({ sessionId, mtime: mtimeOf(info) });
      return sessions;
    },
    async listSessionSummaries(projectKey) {
      const summaries: ClaudeSessionSummary[] = [];
      for await (const { sessionId, info } of mainLogs(projectKey)) {
        const data = info.metadata.summary;
        if (isRecord(data)) summaries.push({ sessionId, mtime: mtimeOf(info), data });
      }
      return summaries;
    },
    async delete(key) {
      const id = logId(key);
      const ids = [id];
      // Subagents first: a deletion that is cut short is found and repeated by the session's own id.
      if (key.subpath === undefined) {
        for await (const info of listAll(store, { idPrefix: `${id}/` })) ids.unshift(info.id);
      }
      for (const one of ids) {
        await store.deleteSession(one);
        transcripts.delete(one);
      }
    },
    async listSubkeys({ sessionId }) {
      const prefix = `${logId({ projectKey: '', sessionId })}/`;
      const subpaths: string[] = [];
      for await (const info of listAll(store, { idPrefix: prefix })) {
        const subpath = unescaped(info.id.slice(prefix.length));
        if (subpath !== undefined) subpaths.push(subpath);
      }
      return subpaths;
    },
  };
}

/** What the SDK mirrors as a line of a subagent's transcript; on disk it is a file beside it. */
const METADATA = 'agent_metadata';

/** A session of the SDK's, from our store, as `parseTranscript('claude-sdk', …)` takes it: with its subagents. */
export async function readClaudeSession(store: Store, sessionId: string): Promise<CombinedTranscript> {
  const sessions = claudeSessionStore(store);
  const key = { projectKey: '', sessionId };
  const main = await sessions.load(key);
  if (!main) {
    throw new HoldfastError('SESSION_NOT_FOUND', `there is no Claude session ${sessionId} in this store; check its id`);
  }
  const subagents: SubagentTranscript[] = [];
  for (const subpath of await sessions.listSubkeys(key)) {
    const entries = (await sessions.load({ ...key, subpath })) ?? [];
    const { type: _, ...meta } = entries.findLast(({ type }) => type === METADATA) ?? { type: METADATA };
    const lines = entries.filter(({ type }) => type !== METADATA);
    subagents.push({ id: subpath.slice(subpath.lastIndexOf('/') + 1), transcript: jsonLines(lines), meta });
  }
  return { main: jsonLines(main), subagents };
}

function jsonLines(entries: readonly ClaudeTranscriptEntry[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

async function* listAll(
  store: Store,
  options: { readonly idPrefix: string; readonly metadata?: Readonly<Record<string, unknown>> },
): AsyncIterable<SessionInfo> {
  let cursor: string | undefined;
  do {
    const page = await store.listSessions({ ...options, limit: PAGE, ...(cursor !== undefined && { cursor }) });
    yield* page.sessions;
    cursor = page.next;
  } while (cursor !== undefined);
}

/** The log that holds a transcript. Parts are escaped, so that no session id can name another's subagent. */
function logId({ sessionId, subpath }: ClaudeSessionKey): string {
  if (!isName(sessionId) || (subpath !== undefined && !isName(subpath))) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      'a session key has a sessionId, and a subpath only for a subagent: give text without lone surrogates, and leave the subpath out for the session itself',
    );
  }
  const main = PREFIX + encodeURIComponent(sessionId);
  const id = subpath === undefined ? main : `${main}/${encodeURIComponent(subpath)}`;
  checkSessionId(id); // too long for a store, perhaps
  return id;
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.isWellFormed();
}

/** What a part of a log's id was escaped from. Undefined for the id of a log that is none of ours. */
function unescaped(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

function mtimeOf(info: SessionInfo): number {
  return Date.parse(info.updatedAt);
}
