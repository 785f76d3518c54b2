import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import { argumentKeysOf } from '../../core/fold/call-arguments.ts';
import type { SessionState } from '../../core/fold/fold.ts';
import { foldRecord, type SessionRecord } from '../../core/fold/record.ts';
import { isBuiltInEvent, type NewEvent } from '../../core/log/events.ts';
import type { AppendOptions, CallContents, ContentWrite, Store } from '../../ports/store.ts';
import { refuseMixed } from '../change/imported.ts';
import type { AcceptedEvents } from './event-intake.ts';
import { MessageSequences } from './message-sequences.ts';
import type { ExactArguments } from './redact-event.ts';
import { StaleTransaction } from './run-transaction.ts';

/** The parts of a session that the queue uses. */
export interface AppendTarget {
  readonly store: Store;
  readonly sessionId: string;
  /** The life of the session that was opened. */
  readonly incarnation: number;
  pause(ms: number): Promise<void>;
  /** What is folded. */
  state(): SessionState;
  /** Called after a commit, in log order: `events` ended at `seq`. */
  committed(events: readonly NewEvent[], seq: number): void;
  /** Reads and folds what others have appended. */
  refresh(): Promise<void>;
}

/**
 * Decides whether an append may still be made after everything that is in the log, and throws when not.
 *
 * Contract: synchronous and without effects. It is called before every try, also when a stale sequence was read up, so that what it
 * saw is what the append follows. Appends without a fence that have a guard are committed alone: their guards see each other's
 * events. Those of the lease's holder share a commit, and their guards see what others have written.
 */
export type AppendGuard = (state: SessionState) => void;

/** How an append is made. */
export interface AppendEntryOptions extends Pick<AppendOptions, 'fence' | 'endsDrafts' | 'syncLater'> {
  /** The entry is refused unless the log ends at this seq right before it. */
  readonly after?: number;
  readonly guard?: AppendGuard | undefined;
  /** A store that is busy, full or failing is tried again until it stores the events, is closed, or the fence is stale. */
  readonly untilStored?: boolean | undefined;
}

const NO_OPTIONS: AppendEntryOptions = {};
const NOTHING_EXACT: NonNullable<AcceptedEvents['exact']> = [];

interface Entry {
  readonly events: readonly NewEvent[];
  readonly contents: AcceptedEvents['contents'] | undefined;
  readonly exact: AcceptedEvents['exact'] | undefined;
  readonly options: AppendEntryOptions;
  readonly resolve: (appended: { readonly seq: number }) => void;
  readonly reject: (error: unknown) => void;
}

/** Entries on their way into the log together. */
interface Attempt {
  readonly id: string;
  readonly expectedSeq: number;
  readonly entries: readonly Entry[];
  readonly events: readonly NewEvent[];
  readonly callContents: CallContents | undefined;
}

/** Whether an entry's guard must see the events of every other entry. */
function isAlone({ options: { guard, fence } }: Entry): boolean {
  return guard !== undefined && fence === undefined;
}

/** One append in so many waits for the turn of the event loop to end, even when its caller expects no other. */
const MAX_AT_ONCE = 8;

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1000;

/** Each refusal means that another writer has appended: only many writers at once can use this up. */
const MAX_TRIES = 1_000;

/**
 * One session's way into its log. Appends that wait together are committed together, each contiguous; a stale sequence is
 * read up and tried again; an append whose acknowledgement was lost is repeated under the same id (D51).
 */
export class AppendQueue {
  readonly #target: AppendTarget;
  readonly #id: string;
  #count = 0;
  #waiting: Entry[] = [];
  #running: Promise<void> | undefined;
  /** Counts appends that did not wait: every so often one does, so that timers and input get their turn whatever the store does. */
  #atOnce = 0;
  /** Ends the wait for other appends, if there is one. */
  #stopGathering: () => void = () => {};

  /** `id` begins the id of every append: it must be unique to this queue. */
  constructor(target: AppendTarget, id: string) {
    this.#target = target;
    this.#id = id;
  }

  /**
   * Resolves with the seq of the last event when all of them are durable. Waits for what else this turn of the event loop
   * appends, so that it goes into the same commit, unless the caller knows that no other append follows (`now`). Rejects with
   * `StaleTransaction` when the log does not end at `after` right before the events.
   */
  append(
    { events, contents, exact }: AcceptedEvents,
    options: AppendEntryOptions = NO_OPTIONS,
    now = false,
  ): Promise<{ readonly seq: number }> {
    return new Promise((resolve, reject) => {
      const entry = { events, contents, exact, options, resolve, reject };
      const atOnce = now && ++this.#atOnce % MAX_AT_ONCE !== 0;
      if (atOnce && !this.#running && isAlone(entry)) {
        this.#running = this.#run([entry]);
        return;
      }
      this.#waiting.push(entry);
      this.#running ??= this.#run(undefined, atOnce);
      if (atOnce) this.#stopGathering();
    });
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  /** Appends `first`, or else what waits at the end of this turn, or of this microtask with `now`; then what has come to wait meanwhile. */
  async #run(first: readonly Entry[] | undefined, now = false): Promise<void> {
    if (!first) await (now ? undefined : this.#gather()); // even then, appends of the same microtask share the commit
    for (let batch = first ?? this.#takeBatch(); batch.length > 0; batch = this.#takeBatch()) {
      try {
        await this.#append(batch, batch[0]?.options.fence);
      } catch (error) {
        for (const entry of batch) entry.reject(error); // each caller gets the error
      }
    }
    this.#running = undefined;
  }

  /** Waits for this turn of the event loop to end, or for a caller that expects no other append. */
  async #gather(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const turn = setImmediate(resolve);
    this.#stopGathering = resolve;
    await promise;
    clearImmediate(turn);
    this.#stopGathering = () => {};
  }

  /** The waiting entries up to the first that is fenced otherwise, or must be committed alone. */
  #takeBatch(): readonly Entry[] {
    const [first] = this.#waiting;
    if (first && isAlone(first)) return this.#waiting.splice(0, 1);
    const end = this.#waiting.findIndex((entry) => entry.options.fence !== first?.options.fence || isAlone(entry));
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  /** Appends entries together. */
  async #append(ready: readonly Entry[], fence: number | undefined): Promise<void> {
    const { store, sessionId } = this.#target;
    let unanswered: Attempt | undefined;
    let pauses = 0;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const attempt: Attempt = unanswered ?? this.#prepare(ready);
      const { expectedSeq, entries, events } = attempt;
      if (events.length === 0) return;
      try {
        const { seq } = await store.append(sessionId, events, this.#optionsOf(attempt, fence));
        // Others' events came before ours if the append was repeated: they are folded first.
        while (this.#target.state().seq < seq - events.length) await this.#readUp(this.#target.state().seq + 1);
        this.#committed(entries, events, seq);
        return;
      } catch (error) {
        if (isHoldfastError(error, 'SESSION_CONFLICT') && error.detail === 'sequence') {
          unanswered = undefined; // it was not written: the first try was refused, too
          try {
            await this.#readUp(expectedSeq);
          } catch (failure) {
            await this.#outlast(entries, failure, pauses++); // the next try is refused again, and reads again
            tries = 0;
          }
        } else if (isHoldfastError(error, 'STORE_FAILED') && !unanswered) {
          unanswered = attempt; // it may have been written: the store recognizes the same id and sequence
        } else {
          await this.#outlast(entries, error, pauses++);
          unanswered = attempt;
          tries = 0;
        }
      }
    }
    throw new HoldfastError(
      'SESSION_CONFLICT',
      `session ${sessionId} is written to faster than it can be read; try again`,
      { detail: 'sequence' },
    );
  }

  /** How the store appends the entries: with what they store outside their events. Most store nothing there. */
  #optionsOf({ id, expectedSeq, entries, callContents }: Attempt, fence: number | undefined): AppendOptions {
    const { incarnation } = this.#target;
    const [only] = entries;
    const options: { -readonly [Key in keyof AppendOptions]: AppendOptions[Key] } = { id, expectedSeq, incarnation };
    if (fence !== undefined) options.fence = fence;
    if (entries.length === 1 ? only?.options.syncLater : entries.every((entry) => entry.options.syncLater)) {
      options.syncLater = true;
    }
    return callContents || entries.some(keepsMore) ? withBesides(options, entries, callContents) : options;
  }

  /** Waits after an error that may pass, if an entry must be stored; throws any other. */
  async #outlast(entries: readonly Entry[], error: unknown, pauses: number): Promise<void> {
    if (!entries.some(({ options }) => options.untilStored) || !isPassing(error)) throw error;
    await this.#target.pause(Math.min(FIRST_PAUSE_MS * 2 ** pauses, LONGEST_PAUSE_MS));
  }

  /** The entries that may still be written after the folded events; the others are rejected (D12). */
  #prepare(ready: readonly Entry[]): Attempt {
    const state = this.#target.state();
    const sequences = ready.length > 1 || ready[0]?.events.some(isMessage) ? new MessageSequences(state) : undefined;
    const entries: Entry[] = [];
    let { seq } = state;
    for (const entry of ready) {
      try {
        const { after, guard } = entry.options;
        if (after !== undefined && after !== seq) throw new StaleTransaction();
        guard?.(state);
        refuseMixed(this.#target.sessionId, state, entry.events);
        sequences?.take(entry.events);
        entries.push(entry);
        seq += entry.events.length;
      } catch (error) {
        entry.reject(error);
      }
    }
    const events = entries.length === 1 && entries[0] ? entries[0].events : entries.flatMap((entry) => entry.events);
    const exact = entries.some((entry) => entry.exact) ? entries.flatMap((entry) => entry.exact ?? []) : NOTHING_EXACT;
    const callContents = callContentsOf(state, events, exact);
    return { id: `${this.#id}:${++this.#count}`, expectedSeq: state.seq, entries, events, callContents };
  }

  #committed(entries: readonly Entry[], events: readonly NewEvent[], last: number): void {
    this.#target.committed(events, last);
    let seq = last - events.length;
    for (const entry of entries) {
      seq += entry.events.length;
      entry.resolve({ seq });
    }
  }

  /** Reads on. A log that ends before `seq`, which it had reached, is not the one that was opened. */
  async #readUp(seq: number): Promise<void> {
    const { store, sessionId } = this.#target;
    await this.#target.refresh();
    if (this.#target.state().seq > seq) return;
    const head = await store.head(sessionId);
    if (head.incarnation === this.#target.incarnation && head.seq >= seq) return;
    throw new HoldfastError('SESSION_NOT_FOUND', `session ${sessionId} was deleted while it was open; open it again`);
  }
}

function isMessage({ type }: NewEvent): boolean {
  return type === 'message/recorded';
}

/** Adds what entries that are committed together store outside their events. */
function withBesides(
  options: AppendOptions,
  entries: readonly Entry[],
  callContents: CallContents | undefined,
): AppendOptions {
  const contents: ContentWrite[] = [];
  let before = 0;
  for (const entry of entries) {
    for (const content of entry.contents ?? []) contents.push({ ...content, event: content.event + before });
    before += entry.events.length;
  }
  const endsDrafts = entries.flatMap((entry) => entry.options.endsDrafts ?? []);
  return {
    ...options,
    ...(contents.length > 0 && { contents }),
    ...(endsDrafts.length > 0 && { endsDrafts }),
    ...(callContents && { callContents }),
  };
}

function keepsMore({ contents, options }: Entry): boolean {
  return contents !== undefined || options.endsDrafts !== undefined;
}

/** Whether a store that failed may work again. */
function isPassing(error: unknown): boolean {
  return (
    isHoldfastError(error, 'STORE_BUSY') ||
    isHoldfastError(error, 'STORE_FULL') ||
    isHoldfastError(error, 'STORE_FAILED')
  );
}

/**
 * What an append does to exact arguments that are stored outside the log (D77), derived from the record before and after its events:
 * those of calls that end are dropped, whichever event ends them; those of a call that is known already, or has ended within the
 * append, are not stored.
 */
function callContentsOf(
  { record, seq }: SessionState,
  events: readonly NewEvent[],
  exact: readonly ExactArguments[],
): CallContents | undefined {
  if (exact.length === 0 && record.redactedEvaluations.length === 0) return undefined; // as in a session without redaction
  const before = keysIn(record);
  const after = keysIn(
    events.reduce<SessionRecord>((folded, event, i) => {
      const committed = { ...event, seq: seq + i + 1 };
      return isBuiltInEvent(committed) ? foldRecord(folded, committed) : folded;
    }, record),
  );
  const put = exact.filter(({ call }) => after.has(call) && !before.has(call));
  const drop = [...before].filter((key) => !after.has(key));
  return put.length + drop.length > 0 ? { put, drop } : undefined;
}

function keysIn({ redactedEvaluations, evaluations }: SessionRecord): ReadonlySet<string> {
  return new Set(redactedEvaluations.flatMap((id) => argumentKeysOf(evaluations, id)));
}
