/** The effect of the page size, for information: the numbers behind the choice of 4096 (docs/storage.md). */
import { statSync } from 'node:fs';
import { sqliteStore } from '../../src/sqlite.ts';
import { type Figure, info, median } from '../figure.ts';
import { inDirectory, message, timed } from './workload.ts';

const SIZES = [4096, 8192, 16384] as const;
const ROUNDS = 150;
const SESSIONS = 32;
const READS = 8;
const LOG = 5000;

interface Samples {
  readonly lone: number[];
  readonly group: number[];
  readonly read: number[];
  bytes: number;
}

export function pageSizes(section: string): AsyncIterable<Figure> {
  return inDirectory(async function* (path) {
    const measured = new Map<number, Samples>();
    const stores = await Promise.all(SIZES.map((pageSize) => sqliteStore(path(`${pageSize}.db`), { pageSize })));
    for (const size of SIZES) measured.set(size, { lone: [], group: [], read: [], bytes: 0 });

    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, size] of SIZES.entries()) {
        const store = stores[i];
        const samples = measured.get(size);
        if (!store || !samples) continue;
        const append = (id: string, n: number) => store.append(id, [message(n)], { id: `append-${n}`, expectedSeq: n });
        for (let n = round * 4; n < round * 4 + 4; n++) samples.lone.push(await timed(() => append('alone', n)));
        samples.group.push(
          await timed(() => Promise.all(Array.from({ length: SESSIONS }, (_, s) => append(`session-${s}`, round)))),
        );
      }
    }
    for (const store of stores) {
      await store.append(
        'long',
        Array.from({ length: LOG }, (_, n) => message(n)),
        { id: 'all', expectedSeq: 0 },
      );
    }
    for (let round = 0; round < READS; round++) {
      for (const [i, size] of SIZES.entries()) {
        const store = stores[i];
        if (store) measured.get(size)?.read.push(await timed(() => count(store.read('long'))));
      }
    }
    for (const [i, size] of SIZES.entries()) {
      await stores[i]?.close();
      const samples = measured.get(size);
      if (samples) samples.bytes = statSync(path(`${size}.db`)).size;
    }

    const base = measured.get(SIZES[0]);
    for (const size of SIZES.slice(1)) {
      const samples = measured.get(size);
      if (!base || !samples) continue;
      yield info(section, `pages of ${size} / 4096: lone append`, median(samples.lone) / median(base.lone));
      yield info(
        section,
        `pages of ${size} / 4096: 32 appends in one commit`,
        median(samples.group) / median(base.group),
      );
      yield info(section, `pages of ${size} / 4096: reading a session`, median(samples.read) / median(base.read));
      yield info(section, `pages of ${size} / 4096: file size`, samples.bytes / base.bytes);
    }
  });
}

async function count(events: AsyncIterable<unknown>): Promise<number> {
  let total = 0;
  for await (const _ of events) total++;
  return total;
}
