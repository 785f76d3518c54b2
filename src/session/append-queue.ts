import { HoldfastError, isHoldfastError } from '../core/errors.ts';
import type { NewEvent } from '../core/events.ts';
import type { SessionState } from '../core/fold.ts';
import type { Store } from '../ports/store.ts';
import { MessagePlaces } from './message-places.ts';
import { StaleTransaction } from './run-transaction.ts';

/** What the queue asks of its session. */
export interface AppendTarget {
  readonly store: Store;
  readonly sessionId: string;
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
export interface AppendEntryOptions {
  readonly fence?: number;
  readonly now?: boolean;
  readonly after?: number;
  readonly guard?: AppendGuard | undefined;
}

interface Entry {
  /** A promise while a large content is being stored apart: the entry keeps its place in the log meanwhile. */
  readonly events: readonly NewEvent[] | Promise<readonly NewEvent[]>;
  readonly fence: number | undefined;
  /** The entry is refused unless the log ends at this seq right before it. */
  readonly after: number | undefined;
  readonly guard: AppendGuard | undefined;
  readonly resolve: (seq: number) => void;
  readonly reject: (error: unknown) => void;
}

/** An entry whose events are all there. */
interface Ready extends Entry {
  readonly events: readonly NewEvent[];
}

/** Entries on their way into the log together. */
interface Attempt {
  readonly id: string;
  readonly expectedSeq: number;
  readonly entries: readonly Ready[];
  readonly events: readonly NewEvent[];
}

function isReady(entry: Entry): entry is Ready {
  return !(entry.events instanceof Promise);
}

/** Whether an entry's guard must see the events of every other entry. */
function isAlone({ guard, fence }: Entry): boolean {
  return guard !== undefined && fence === undefined;
}

/** The entries whose events are there in the end; who waits for the others is told why. */
async function settled(batch: readonly Entry[]): Promise<readonly Ready[]> {
  const ready: Ready[] = [];
  for (const entry of batch) {
    try {
      ready.push({ ...entry, events: await entry.events });
    } catch (error) {
      entry.reject(error);
    }
  }
  return ready;
}

/** One append in so many waits for the turn of the event loop to end, even when nothing else will come. */
const MAX_AT_ONCE = 8;

/** Each refusal means that someone else has written: only a crowd can use this up. */
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
  /** How many appends did not wait: now and then one does, so that timers and input have their turn whatever the store does. */
  #atOnce = 0;
  /** Ends the wait for more, if there is one. */
  #goOn: () => void = () => {};

  /** `id` begins the id of every append: it must be unique to this queue. */
  constructor(target: AppendTarget, id: string) {
    this.#target = target;
    this.#id = id;
  }

  /**
   * Resolves with the seq of the last event when all of them are durable. Waits for what else this turn of the event loop
   * appends, so that it goes into the same commit, unless the caller knows that nothing more will come (`now`). Rejects with
   * `StaleTransaction` when the log does not end at `after` right before the events.
   */
  append(
    events: readonly NewEvent[] | Promise<readonly NewEvent[]>,
    { fence, now = false, after, guard }: AppendEntryOptions = {},
  ): Promise<number> {
    // Its failure is told to the caller when its turn comes; until then nobody listens.
    if (events instanceof Promise) events.catch(() => {});
    return new Promise((resolve, reject) => {
      this.#waiting.push({ events, fence, after, guard, resolve, reject });
      const atOnce = now && ++this.#atOnce % MAX_AT_ONCE !== 0;
      this.#running ??= this.#run(atOnce);
      if (atOnce) this.#goOn();
    });
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async #run(now: boolean): Promise<void> {
    await (now ? undefined : this.#gather());
    while (this.#waiting.length > 0) {
      const batch = this.#takeBatch();
      await this.#append(batch.every(isReady) ? batch : await settled(batch), batch[0]?.fence);
    }
    this.#running = undefined;
  }

  /** Waits for this turn of the event loop to end, or for someone who knows that nothing more will come. */
  async #gather(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const turn = setImmediate(resolve);
    this.#goOn = resolve;
    await promise;
    clearImmediate(turn);
    this.#goOn = () => {};
  }

  /** The waiting entries up to the first that is fenced otherwise, or must be committed alone. */
  #takeBatch(): readonly Entry[] {
    const [first] = this.#waiting;
    if (first && isAlone(first)) return this.#waiting.splice(0, 1);
    const end = this.#waiting.findIndex((entry) => entry.fence !== first?.fence || isAlone(entry));
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  /** Appends entries together. Whatever fails is told to whom it concerns. */
  async #append(ready: readonly Ready[], fence: number | undefined): Promise<void> {
    try {
      await this.#tryToAppend(ready, fence);
    } catch (error) {
      for (const entry of ready) entry.reject(error);
    }
  }

  async #tryToAppend(ready: readonly Ready[], fence: number | undefined): Promise<void> {
    const { store, sessionId } = this.#target;
    let unanswered: Attempt | undefined;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const attempt: Attempt = unanswered ?? this.#prepare(ready);
      const { id, expectedSeq, entries, events } = attempt;
      if (events.length === 0) return;
      try {
        const options = { id, expectedSeq, ...(fence !== undefined && { fence }) };
        const { seq } = await store.append(sessionId, events, options);
        // Others' events came before ours if the append was repeated: they are folded first.
        while (this.#target.state().seq < seq - events.length) await this.#readUp(this.#target.state().seq + 1);
        this.#committed(entries, events, seq);
        return;
      } catch (error) {
        if (isHoldfastError(error, 'SESSION_CONFLICT') && error.detail === 'sequence') {
          unanswered = undefined; // it was not written: the first try was refused, too
          await this.#readUp(expectedSeq);
        } else if (isHoldfastError(error, 'STORE_FAILED') && !unanswered) {
          unanswered = attempt; // it may have been written: the same id and sequence tell
        } else throw error;
      }
    }
    throw new HoldfastError(
      'SESSION_CONFLICT',
      `session ${sessionId} is written to faster than it can be read; try again`,
      { detail: 'sequence' },
    );
  }

  /** The entries that may still be written after what is folded; those that may not are told so (D12). */
  #prepare(ready: readonly Ready[]): Attempt {
    const state = this.#target.state();
    const places = new MessagePlaces(state);
    const entries: Ready[] = [];
    let { seq } = state;
    for (const entry of ready) {
      try {
        if (entry.after !== undefined && entry.after !== seq) throw new StaleTransaction();
        entry.guard?.(state);
        places.take(entry.events);
        entries.push(entry);
        seq += entry.events.length;
      } catch (error) {
        entry.reject(error);
      }
    }
    const events = entries.length === 1 && entries[0] ? entries[0].events : entries.flatMap((entry) => entry.events);
    return { id: `${this.#id}:${++this.#count}`, expectedSeq: state.seq, entries, events };
  }

  #committed(entries: readonly Ready[], events: readonly NewEvent[], last: number): void {
    this.#target.committed(events, last);
    let seq = last - events.length;
    for (const entry of entries) {
      seq += entry.events.length;
      entry.resolve(seq);
    }
  }

  /** Reads on. A log that ends before `seq`, which it had reached, is not the one that was opened. */
  async #readUp(seq: number): Promise<void> {
    const { store, sessionId } = this.#target;
    await this.#target.refresh();
    if (this.#target.state().seq > seq || (await store.head(sessionId)) >= seq) return;
    throw new HoldfastError('SESSION_NOT_FOUND', `session ${sessionId} was deleted while it was open; open it again`);
  }
}
