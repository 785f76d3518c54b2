/** Bytes and time of one piece for readers over HTTP, in short and in long conversations. */
import { openSession, type Store } from '../../src/index.ts';
import { createServer } from '../../src/server.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { message } from '../append/workload.ts';
import { atMost, type Figure, info, median } from '../figure.ts';
import { draftChunks } from '../inbox/draft-chunks.ts';

const FEW = 100;
const MANY = 10_000;
const SHORT = 10;
const LONG = 5000;
const READERS = 20;
const PIECES = 150;
const WARM_UP = 50;
const MAX_GROWTH = 1.3;
/** A number in an id may have some digits more. */
const MAX_BYTES_GROWTH = 1.05;

export async function* deltaFigures(section: string, path: (name: string) => string): AsyncIterable<Figure> {
  const store = await sqliteStore(path('deltas.db'));
  const server = createServer({ store });
  const { url } = await server.listen();
  try {
    const followed = {
      few: await Followed.begin(store, url, 'few', FEW, SHORT),
      many: await Followed.begin(store, url, 'many', MANY, SHORT),
      long: await Followed.begin(store, url, 'long', FEW, LONG),
    };
    const names = Object.keys(followed) as (keyof typeof followed)[];
    const costs: Record<keyof typeof followed, number[]> = { few: [], many: [], long: [] };
    const bytes = { few: 0, many: 0, long: 0 };
    // One after the other, so that disturbances affect all of them.
    for (let i = -WARM_UP; i < PIECES; i++) {
      for (const name of names) {
        const before = followed[name].bytes;
        const ms = await followed[name].piece();
        if (i < 0) continue;
        costs[name].push(ms);
        bytes[name] += followed[name].bytes - before;
      }
    }
    for (const name of names) await followed[name].end();
    const ms = { few: median(costs.few), many: median(costs.many), long: median(costs.long) };
    const perReader = (total: number): number => total / PIECES / READERS;
    const note = `${((ms.few * 1000) / READERS).toFixed(0)} µs a reader at ${FEW}`;
    yield atMost(
      section,
      `time of a piece for ${READERS} HTTP readers at ${MANY} messages / at ${FEW}`,
      ms.many / ms.few,
      MAX_GROWTH,
      note,
    );
    yield atMost(section, `time of a piece of a draft of ${LONG} chunks / of ${SHORT}`, ms.long / ms.few, MAX_GROWTH);
    yield atMost(section, `bytes of a piece at ${MANY} messages / at ${FEW}`, bytes.many / bytes.few, MAX_BYTES_GROWTH);
    yield atMost(
      section,
      `bytes of a piece of a draft of ${LONG} chunks / of ${SHORT}`,
      bytes.long / bytes.few,
      MAX_BYTES_GROWTH,
    );
    yield info(section, 'bytes of a piece for a reader', perReader(bytes.few), 'about 40 of them text');
  } finally {
    await server.close();
    await store.close();
  }
}

/** A session with readers that have read all of it. */
class Followed {
  bytes = 0;
  readonly #store: Store;
  readonly #id: string;
  readonly #fence: number;
  readonly #stop = new AbortController();
  #written = 0;
  #waiting = 0;
  #arrived: () => void = () => {};

  static async begin(store: Store, url: string, id: string, messages: number, chunks: number): Promise<Followed> {
    await store.append(
      id,
      Array.from({ length: messages }, (_, n) => message(n)),
      { id: 'all', expectedSeq: 0 },
    );
    await (await openSession({ store, id })).close();
    const holder = { id: 'bench', host: 'bench', pid: 1, startedAt: '0' };
    const { lease } = await store.acquireLease(id, { holder, ttlMs: 3_600_000 });
    const followed = new Followed(store, id, lease.fence);
    await followed.#write(chunks);
    const caughtUp = followed.#arrival();
    for (let i = 0; i < READERS; i++) void followed.#follow(url);
    await caughtUp;
    return followed;
  }

  private constructor(store: Store, id: string, fence: number) {
    this.#store = store;
    this.#id = id;
    this.#fence = fence;
  }

  /** Writes a piece; returns the milliseconds from its commit until all readers have it. */
  async piece(): Promise<number> {
    const arrival = this.#arrival();
    await this.#write(1);
    const began = performance.now();
    await arrival;
    return performance.now() - began;
  }

  async end(): Promise<void> {
    this.#stop.abort();
  }

  /** Resolves when each reader has received one more piece, or the drafts as a whole. */
  #arrival(): Promise<void> {
    this.#waiting = READERS;
    return new Promise((resolve) => {
      this.#arrived = resolve;
    });
  }

  async #follow(url: string): Promise<void> {
    const response = await fetch(`${url}/sessions/${this.#id}/stream`, { signal: this.#stop.signal });
    const decoder = new TextDecoder();
    let last = 0;
    try {
      for await (const chunk of response.body ?? []) {
        this.bytes += chunk.byteLength;
        for (const [, n] of decoder.decode(chunk, { stream: true }).matchAll(/^id: [\d]+\.[\d]+\.([\d]+)$/gm))
          last = Number(n);
        if (last !== this.#written) continue;
        last = 0;
        if (--this.#waiting === 0) this.#arrived();
      }
    } catch {
      // The bench is over.
    }
  }

  async #write(count: number): Promise<void> {
    const chunks = draftChunks(this.#fence, this.#written, count);
    this.#written += count;
    await this.#store.appendDraft(this.#id, chunks, { fence: this.#fence });
  }
}
