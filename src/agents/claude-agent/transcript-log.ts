import { canonicalJson } from '../../core/canonical-json.ts';
import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import type { NewEvent, SessionEvent } from '../../core/log/events.ts';
import { isRecord } from '../../core/log/message-problem.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Store } from '../../ports/store.ts';
import { loadClaudeSdk } from './load-sdk.ts';
import type { ClaudeSessionKey, ClaudeSessionSummary, ClaudeTranscriptEntry, FoldSessionSummary } from './sdk-types.ts';

const ENTRY = 'claude/entry';
/** Before a project key in a session's metadata. */
export const PROJECT = 'project:';
/** Each refusal means that another writer has appended: only many writers at once can use this up. */
const MAX_TRIES = 100;

/** An entry's place in a log, and what distinguishes it from any other that may be there. */
interface Known {
  readonly seq: number;
  readonly identity: string;
}

interface TranscriptLogOptions {
  readonly clock: Clock;
  /** Names this process in the ids of its appends. */
  readonly instance: string;
  readonly fold: FoldSessionSummary | undefined;
}

/** One log as this process knows it: what is in it already, and what the SDK wants summed up. */
export class TranscriptLog {
  readonly #store: Store;
  readonly #id: string;
  readonly #options: TranscriptLogOptions;
  #seq = 0;
  /** The newest entry that is known: as long as it is there, so is everything before it. */
  #newest: Known | undefined;
  #uuids = new Set<string>();
  #projects = new Set<string>();
  #summary: ClaudeSessionSummary | undefined;
  #appends = 0;
  /** Appends of this process happen one after the other, in the order they were asked for. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(store: Store, id: string, options: TranscriptLogOptions) {
    this.#store = store;
    this.#id = id;
    this.#options = options;
  }

  append(key: ClaudeSessionKey, entries: readonly ClaudeTranscriptEntry[]): Promise<void> {
    const mine = this.#last.then(() => this.#append(key, entries));
    this.#last = mine.catch(() => {}); // its own caller gets the error
    return mine;
  }

  async #append(key: ClaudeSessionKey, entries: readonly ClaudeTranscriptEntry[]): Promise<void> {
    const fold = key.subpath === undefined ? await this.#folding() : undefined;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      await this.#readUp();
      const newest = this.#newest;
      const fresh = this.#notYetThere(entries);
      if (fresh.length > 0 && !(await this.#write(key, fresh, fold))) continue;
      // Deleted and written again meanwhile, to equal length: what was left out above may be missing.
      if (await this.#isThere(newest)) return;
      this.#forget();
    }
    throw new HoldfastError('SESSION_CONFLICT', `${this.#id} is written to by too many at once; try again`, {
      detail: 'sequence',
    });
  }

  /** False when another writer was first. */
  async #write(
    key: ClaudeSessionKey,
    entries: readonly ClaudeTranscriptEntry[],
    fold: FoldSessionSummary | undefined,
  ): Promise<boolean> {
    const at = new Date(this.#options.clock.now()).toISOString();
    const id = `${this.#options.instance}:${++this.#appends}`;
    const events: NewEvent[] = entries.map((entry) => ({ type: ENTRY, at, append: id, entry }));
    const description = fold && this.#describe(key, entries, fold);
    if (description) events.push({ type: 'session/described', at, ...description });
    try {
      await this.#store.append(this.#id, events, { id, expectedSeq: this.#seq });
    } catch (error) {
      if (!isHoldfastError(error, 'SESSION_CONFLICT') || error.detail !== 'sequence') throw error;
      return false;
    }
    for (const event of events) this.#take(event, this.#seq + 1);
    return true;
  }

  /** An entry with a uuid is kept once; one without has no identity, and is kept each time. */
  #notYetThere(entries: readonly ClaudeTranscriptEntry[]): readonly ClaudeTranscriptEntry[] {
    const seen = new Set<string>();
    return entries.filter((entry) => {
      const uuid = uuidOf(entry);
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
    const { data } = fold(before, key, [...entries], { mtime: this.#options.clock.now() });
    const known = this.#projects.has(key.projectKey);
    if (known && before && canonicalJson(before.data) === canonicalJson(data)) return undefined;
    return { metadata: { [PROJECT + key.projectKey]: true, summary: data }, tags: ['claude-session'] };
  }

  async #folding(): Promise<FoldSessionSummary> {
    const fold = this.#options.fold ?? (await loadClaudeSdk()).foldSessionSummary;
    return fold as FoldSessionSummary;
  }

  /** Reads what other writers have appended, and all of it again if another process has deleted the session meanwhile. */
  async #readUp(): Promise<void> {
    if (this.#seq > 0 && !(await this.#isThere(this.#newest))) this.#forget();
    for await (const event of this.#store.read(this.#id, { after: this.#seq })) this.#take(event, event.seq);
  }

  /** Whether an entry is in the log where it was: not if the log was deleted, whatever was written since. */
  async #isThere(known: Known | undefined): Promise<boolean> {
    if (!known) return true;
    for await (const event of this.#store.read(this.#id, { after: known.seq - 1, limit: 1 })) {
      return event.seq === known.seq && identityOf(event) === known.identity;
    }
    return false;
  }

  #take(event: NewEvent | SessionEvent, seq: number): void {
    this.#seq = seq;
    const entry = entryOf(event);
    if (entry) {
      this.#newest = { seq, identity: identityOf(event) };
      const uuid = uuidOf(entry);
      if (uuid !== undefined) this.#uuids.add(uuid);
    }
    if (event.type !== 'session/described' || !isRecord(event.metadata)) return;
    for (const name of Object.keys(event.metadata)) {
      if (name.startsWith(PROJECT)) this.#projects.add(name.slice(PROJECT.length));
    }
    const { summary } = event.metadata;
    if (isRecord(summary)) this.#summary = { sessionId: this.#id, mtime: 0, data: summary };
  }

  #forget(): void {
    this.#seq = 0;
    this.#newest = undefined;
    this.#uuids = new Set();
    this.#projects = new Set();
    this.#summary = undefined;
  }
}

/** The line of a transcript that an event holds. */
export function entryOf(event: NewEvent | SessionEvent): ClaudeTranscriptEntry | undefined {
  return event.type === ENTRY ? (event as { readonly entry?: ClaudeTranscriptEntry }).entry : undefined;
}

/** What is no text names nothing: such an entry has no identity. */
function uuidOf({ uuid }: ClaudeTranscriptEntry): string | undefined {
  return typeof uuid === 'string' && uuid !== '' ? uuid : undefined;
}

/** The append that wrote an event or, if the event does not name it, its content. */
function identityOf(event: NewEvent | SessionEvent): string {
  const { append, at } = event as { readonly append?: unknown; readonly at?: unknown };
  return typeof append === 'string' ? append : canonicalJson({ at, entry: entryOf(event) });
}
