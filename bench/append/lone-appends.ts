/** A single durable append compared with a raw insert of the same bytes, at the beginning of a log and at its end. */
import { sqliteStore } from '../../src/sqlite.ts';
import { atMost, type Figure, median } from '../figure.ts';
import { rawDatabase } from '../raw-inserts.ts';
import { inDirectory, message, rawTable, timed } from './workload.ts';

const APPENDS = 100_000;
const TENTH = APPENDS / 10;
const WARM_UP = 500;
/** Ours and raw alternate, this many at a time: the cost of a sync drifts, the ratio does not. */
const TURN = 10;
/** How many appends of the eighty thousand in between share a commit: they only lengthen the log. */
const FILL = 500;

/** The time of one append or insert in each batch, ours and raw, measured close together. */
interface Turn {
  readonly ours: number;
  readonly raw: number;
}

export function loneAppends(section: string): AsyncIterable<Figure> {
  return inDirectory(async function* (path) {
    const store = await sqliteStore(path('store.db'));
    const database = rawDatabase(path('raw.db'));
    const raw = rawTable(database);
    const append = (n: number) => store.append('s', [message(n)], { id: `append-${n}`, expectedSeq: n });

    /** Appends `from` to `to`, one after the other, each timed. */
    const measure = async (from: number, to: number): Promise<readonly Turn[]> => {
      const turns: Turn[] = [];
      for (let start = from; start < to; start += TURN) {
        const ours: number[] = [];
        const inserts: number[] = [];
        for (let n = start; n < start + TURN; n++) ours.push(await timed(() => append(n)));
        for (let n = start; n < start + TURN; n++) inserts.push(await timed(() => raw.insert(n)));
        turns.push({ ours: median(ours), raw: median(inserts) });
      }
      return turns;
    };

    await measure(0, WARM_UP);
    const first = await measure(WARM_UP, TENTH);
    for (let n = TENTH; n < APPENDS - TENTH; n += FILL) {
      await Promise.all(Array.from({ length: FILL }, (_, i) => append(n + i)));
      raw.fill(n, n + FILL);
    }
    const last = await measure(APPENDS - TENTH, APPENDS);
    const all = [...first, ...last];
    yield atMost(section, 'durable append / raw node:sqlite insert', ratio(all), 1.3, note(all));
    const growth = ratio(last) / ratio(first);
    yield atMost(section, 'that ratio, last tenth of 100,000 appends / first tenth', growth, 1.15, note(last));
    await store.close();
    database.close();
  });
}

function ratio(turns: readonly Turn[]): number {
  return median(turns.map((turn) => turn.ours / turn.raw));
}

function note(turns: readonly Turn[]): string {
  const middle = (which: keyof Turn) => (median(turns.map((turn) => turn[which])) * 1000).toFixed(0);
  return `${middle('ours')} µs against ${middle('raw')} µs`;
}
