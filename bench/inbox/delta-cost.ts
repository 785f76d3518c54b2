/** The cost of one piece for a reader, from the commit to the state of its conversation. */
import {
  createConversationState,
  logConverter,
  reduceConversationEvents,
  type SessionConversationState,
} from '../../src/conversation.ts';
import { openSession, type Session, type Store, type TailItem } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import type { LogConverter } from '../../src/transcripts/own-log.ts';
import { message } from '../append/workload.ts';
import { atMost, type Figure, info, median } from '../figure.ts';
import { draftChunks } from './draft-chunks.ts';

const FEW = 100;
const MANY = 10_000;
const SHORT = 10;
const LONG = 5000;
const PIECES = 400;
const WARM_UP = 100;
const MAX_GROWTH = 1.3;

export async function* deltaFigures(section: string, path: (name: string) => string): AsyncIterable<Figure> {
  const store = await sqliteStore(path('deltas.db'));
  try {
    const followed = {
      few: await Followed.begin(store, 'few', FEW, SHORT),
      many: await Followed.begin(store, 'many', MANY, SHORT),
      long: await Followed.begin(store, 'long', FEW, LONG),
    };
    const costs: Record<keyof typeof followed, number[]> = { few: [], many: [], long: [] };
    const names = Object.keys(costs) as (keyof typeof followed)[];
    // One after the other, so that disturbances affect all of them.
    for (let i = -WARM_UP; i < PIECES; i++) {
      for (const name of names) {
        const ms = await followed[name].piece();
        if (i >= 0) costs[name].push(ms);
      }
    }
    for (const name of names) await followed[name].end();
    const ms = { few: median(costs.few), many: median(costs.many), long: median(costs.long) };
    const note = `${(ms.few * 1000).toFixed(0)} µs at ${FEW}`;
    yield atMost(section, `a piece to a reader at ${MANY} messages / at ${FEW}`, ms.many / ms.few, MAX_GROWTH, note);
    yield atMost(
      section,
      `a piece to a reader of a draft of ${LONG} chunks / of ${SHORT}`,
      ms.long / ms.few,
      MAX_GROWTH,
    );
    yield info(section, 'a piece to a reader, from its commit to the state', ms.few * 1000, 'µs');
  } finally {
    await store.close();
  }
}

/** A session with a reader that has read all of it. */
class Followed {
  readonly #store: Store;
  readonly #id: string;
  readonly #session: Session;
  readonly #fence: number;
  readonly #converter: LogConverter = logConverter();
  readonly #items: AsyncIterator<TailItem>;
  #state: SessionConversationState = createConversationState();
  #written = 0;

  static async begin(store: Store, id: string, messages: number, chunks: number): Promise<Followed> {
    const events = Array.from({ length: messages }, (_, n) => message(n));
    await store.append(id, events, { id: 'all', expectedSeq: 0 });
    const holder = { id: 'bench', host: 'bench', pid: 1, startedAt: '0' };
    const { lease } = await store.acquireLease(id, { holder, ttlMs: 3_600_000 });
    const followed = new Followed(store, id, await openSession({ store, id }), lease.fence);
    await followed.#write(chunks);
    await followed.#read(({ event }) => !('seq' in event));
    return followed;
  }

  private constructor(store: Store, id: string, session: Session, fence: number) {
    this.#store = store;
    this.#id = id;
    this.#session = session;
    this.#fence = fence;
    this.#items = session.events({ live: true, drafts: true })[Symbol.asyncIterator]();
  }

  /** Writes a piece; returns the milliseconds from its commit until the reader has it. */
  async piece(): Promise<number> {
    await this.#write(1);
    const began = performance.now();
    await this.#read(() => true);
    return performance.now() - began;
  }

  async end(): Promise<void> {
    await this.#items.return?.();
    await this.#session.close();
  }

  async #write(count: number): Promise<void> {
    const chunks = draftChunks(this.#fence, this.#written, count);
    this.#written += count;
    await this.#store.appendDraft(this.#id, chunks, { fence: this.#fence });
  }

  async #read(isLast: (item: TailItem) => boolean): Promise<void> {
    for (;;) {
      const next = await this.#items.next();
      if (next.done) throw new Error('the tail ended');
      this.#state = reduceConversationEvents(this.#state, this.#converter.push(next.value));
      if (isLast(next.value)) return;
    }
  }
}
