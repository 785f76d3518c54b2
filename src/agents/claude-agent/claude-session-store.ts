import { randomBytes } from 'node:crypto';
import { canonicalJson } from '../../core/canonical-json.ts';
import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import type { NewEvent, SessionEvent } from '../../core/events.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SessionInfo, Store } from '../../ports/store.ts';
import { systemClock } from '../../stores/system-clock.ts';
import { loadClaudeSdk } from './load-sdk.ts';
import type {
  ClaudeSessionKey,
  ClaudeSessionStore,
  ClaudeSessionSummary,
  ClaudeTranscriptEntry,
  FoldSessionSummary,
} from './sdk-types.ts';

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
const ENTRY = 'claude/entry';
const PROJECT = 'project:';
const PAGE = 200;
/** Each refusal means that someone else has written: only a crowd can use this up. */
const MAX_TRIES = 100;

/** Keeps the SDK's transcripts in a Holdfast store: `query({ options: { sessionStore: claudeSessionStore(store) } })`. */
export function claudeSessionStore(store: Store, options: ClaudeSessionStoreOptions = {}): ClaudeSessionStore {
  const { clock = systemClock } = options;
  const transcripts = new Map<string, Transcript>();
  const instance = randomBytes(9).toString('base64url');

  const transcriptOf = (id: string): Transcript => {
    let transcript = transcripts.get(id);
    if (!transcript) {
      transcript = new Transcript(store, id, { clock, instance, fold: options.foldSessionSummary });
      transcripts.set(id, transcript);
    }
    return transcript;
  };

  const mainLogs = (projectKey: string): AsyncIterable<SessionInfo> =>
    listAll(store, { idPrefix: PREFIX, metadata: { [PROJECT + projectKey]: true } });

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
      for await (const info of mainLogs(projectKey))
        sessions.push({ sessionId: sessionIdOf(info), mtime: mtimeOf(info) });
      return sessions;
    },
    async listSessionSummaries(projectKey) {
      const summaries: ClaudeSessionSummary[] = [];
      for await (const info of mainLogs(projectKey)) {
        const data = info.metadata.summary;
        if (isObject(data)) summaries.push({ sessionId: sessionIdOf(info), mtime: mtimeOf(info), data });
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
        subpaths.push(decodeURIComponent(info.id.slice(prefix.length)));
      }
      return subpaths;
    },
  };
}

/** One log as this process knows it: what is in it already, and what the SDK wants summed up. */
class Transcript {
  readonly #store: Store;
  readonly #id: string;
  readonly #clock: Clock;
  readonly #fold: FoldSessionSummary | undefined;
  readonly #instance: string;
  #seq = 0;
  #uuids = new Set<string>();
  #projects = new Set<string>();
  #summary: ClaudeSessionSummary | undefined;
  #appends = 0;
  /** Appends of this process happen one after the other, in the order they were asked for. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    store: Store,
    id: string,
    options: { readonly clock: Clock; readonly instance: string; readonly fold: FoldSessionSummary | undefined },
  ) {
    this.#store = store;
    this.#id = id;
    this.#clock = options.clock;
    this.#instance = options.instance;
    this.#fold = options.fold;
  }

  append(key: ClaudeSessionKey, entries: readonly ClaudeTranscriptEntry[]): Promise<void> {
    const mine = this.#last.then(() => this.#append(key, entries));
    this.#last = mine.catch(() => {}); // told to its own caller
    return mine;
  }

  async #append(key: ClaudeSessionKey, entries: readonly ClaudeTranscriptEntry[]): Promise<void> {
    const fold = key.subpath === undefined ? await this.#folding() : undefined;
    if (this.#seq === 0) await this.#readUp();
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const fresh = this.#notYetThere(entries);
      if (fresh.length === 0) return;
      const at = new Date(this.#clock.now()).toISOString();
      const events: NewEvent[] = fresh.map((entry) => ({ type: ENTRY, at, entry }));
      const description = fold && this.#describe(key, fresh, fold);
      if (description) events.push({ type: 'session/described', at, ...description });
      try {
        const id = `${this.#instance}:${++this.#appends}`;
        await this.#store.append(this.#id, events, { id, expectedSeq: this.#seq });
        for (const event of events) this.#take(event, this.#seq + 1);
        return;
      } catch (error) {
        if (!isHoldfastError(error, 'SESSION_CONFLICT') || error.detail !== 'sequence') throw error;
        await this.#readUp();
      }
    }
    throw new HoldfastError('SESSION_CONFLICT', `${this.#id} is written to by too many at once; try again`, {
      detail: 'sequence',
    });
  }

  /** An entry with a uuid is kept once; one without has no identity, and is kept as often as it comes. */
  #notYetThere(entries: readonly ClaudeTranscriptEntry[]): readonly ClaudeTranscriptEntry[] {
    const seen = new Set<string>();
    return entries.filter(({ uuid }) => {
      if (uuid === undefined) return true;
      if (this.#uuids.has(uuid) || seen.has(uuid)) return false;
      seen.add(uuid);
      return true;
    });
  }

  /** What a listing shows: under which project keys, and the SDK's summary. Nothing when the entries change neither. */
  #describe(
    key: ClaudeSessionKey,
    entries: readonly ClaudeTranscriptEntry[],
    fold: FoldSessionSummary,
  ): { readonly metadata: Record<string, unknown>; readonly tags: readonly string[] } | undefined {
    const before = this.#summary;
    const { data } = fold(before, key, [...entries], { mtime: this.#clock.now() });
    const known = this.#projects.has(key.projectKey);
    if (known && before && canonicalJson(before.data) === canonicalJson(data)) return undefined;
    return { metadata: { [PROJECT + key.projectKey]: true, summary: data }, tags: ['claude-session'] };
  }

  async #folding(): Promise<FoldSessionSummary> {
    const fold = this.#fold ?? (await loadClaudeSdk()).foldSessionSummary;
    return fold as FoldSessionSummary;
  }

  async #readUp(): Promise<void> {
    if (this.#seq > 0 && (await this.#store.head(this.#id)).seq < this.#seq) this.#forget(); // deleted meanwhile
    for await (const event of this.#store.read(this.#id, { after: this.#seq })) this.#take(event, event.seq);
  }

  #take(event: NewEvent | SessionEvent, seq: number): void {
    this.#seq = seq;
    const uuid = entryOf(event)?.uuid;
    if (uuid !== undefined) this.#uuids.add(uuid);
    if (event.type !== 'session/described' || !isObject(event.metadata)) return;
    for (const name of Object.keys(event.metadata)) {
      if (name.startsWith(PROJECT)) this.#projects.add(name.slice(PROJECT.length));
    }
    const { summary } = event.metadata;
    if (isObject(summary)) this.#summary = { sessionId: this.#id, mtime: 0, data: summary };
  }

  #forget(): void {
    this.#seq = 0;
    this.#uuids = new Set();
    this.#projects = new Set();
    this.#summary = undefined;
  }
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
  if (!sessionId || subpath === '') {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      'a session key has a sessionId, and a subpath only for a subagent: leave it out for the session itself',
    );
  }
  const main = PREFIX + encodeURIComponent(sessionId);
  return subpath === undefined ? main : `${main}/${encodeURIComponent(subpath)}`;
}

function sessionIdOf(info: SessionInfo): string {
  return decodeURIComponent(info.id.slice(PREFIX.length));
}

function mtimeOf(info: SessionInfo): number {
  return Date.parse(info.updatedAt);
}

function entryOf(event: NewEvent | SessionEvent): ClaudeTranscriptEntry | undefined {
  return event.type === ENTRY ? (event as { readonly entry?: ClaudeTranscriptEntry }).entry : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
