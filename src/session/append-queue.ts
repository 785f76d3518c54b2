import { HoldfastError, isHoldfastError } from '../core/errors.ts';
import type { NewEvent } from '../core/events.ts';
import type { Store } from '../ports/store.ts';

/** What the queue asks of its session. */
export interface AppendTarget {
  readonly store: Store;
  readonly sessionId: string;
  /** The last seq that is folded. */
  seq(): number;
  /** Called after a commit, in log order: `events` ended at `seq`. */
  committed(events: readonly NewEvent[], seq: number): void;
  /** Reads and folds what others have appended. */
  refresh(): Promise<void>;
}

interface Entry {
  /** A promise while a large content is being stored apart: the entry keeps its place in the log meanwhile. */
  readonly events: readonly NewEvent[] | Promise<readonly NewEvent[]>;
  readonly fence: number | undefined;
  readonly resolve: (seq: number) => void;
  readonly reject: (error: unknown) => void;
}

const MAX_TRIES = 100;

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

  /** `id` begins the id of every append: it must be unique to this queue. */
  constructor(target: AppendTarget, id: string) {
    this.#target = target;
    this.#id = id;
  }

  /** Resolves with the seq of the last event when all of them are durable. */
  append(events: readonly NewEvent[] | Promise<readonly NewEvent[]>, fence?: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ events, fence, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async #run(): Promise<void> {
    // Whatever else this turn of the event loop appends goes into the same commit.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) await this.#flush(this.#takeBatch());
    this.#running = undefined;
  }

  /** The waiting entries up to the first that is fenced otherwise. */
  #takeBatch(): readonly Entry[] {
    const fence = this.#waiting[0]?.fence;
    const end = this.#waiting.findIndex((entry) => entry.fence !== fence);
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  async #flush(batch: readonly Entry[]): Promise<void> {
    const ready: { readonly entry: Entry; readonly events: readonly NewEvent[] }[] = [];
    for (const entry of batch) {
      try {
        ready.push({ entry, events: entry.events instanceof Promise ? await entry.events : entry.events });
      } catch (error) {
        entry.reject(error);
      }
    }
    const events = ready.length === 1 && ready[0] ? ready[0].events : ready.flatMap((one) => one.events);
    if (events.length === 0) return;
    try {
      const last = await this.#append(events, batch[0]?.fence);
      this.#target.committed(events, last);
      let seq = last - events.length;
      for (const one of ready) {
        seq += one.events.length;
        one.entry.resolve(seq);
      }
    } catch (error) {
      for (const { entry } of ready) entry.reject(error);
    }
  }

  async #append(events: readonly NewEvent[], fence: number | undefined): Promise<number> {
    const { store, sessionId } = this.#target;
    const id = `${this.#id}:${++this.#count}`;
    let unanswered: number | undefined;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const expectedSeq = unanswered ?? this.#target.seq();
      try {
        const { seq } = await store.append(sessionId, events, {
          id,
          expectedSeq,
          ...(fence !== undefined && { fence }),
        });
        // Others' events came before ours if the append was repeated: they are folded first.
        while (this.#target.seq() < seq - events.length) await this.#target.refresh();
        return seq;
      } catch (error) {
        if (isHoldfastError(error, 'SESSION_CONFLICT') && error.detail === 'sequence') {
          unanswered = undefined; // it was not written: the first try was refused, too
          await this.#target.refresh();
        } else if (isHoldfastError(error, 'STORE_FAILED') && unanswered === undefined) {
          unanswered = expectedSeq; // it may have been written: the same id and sequence tell
        } else throw error;
      }
    }
    throw new HoldfastError(
      'SESSION_CONFLICT',
      `session ${sessionId} is written to faster than it can be read; try again`,
      {
        detail: 'sequence',
      },
    );
  }
}
