/** Opening a long session compared with reading and parsing its rows; with a snapshot only the events after it are read. */
import { DatabaseSync } from 'node:sqlite';
import { type NewEvent, openSession, type Store } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { atMost, type Figure, info, median } from '../figure.ts';
import { inDirectory, message, timed } from './workload.ts';

const MESSAGES = 10_000;
const TAIL = 100;
const ROUNDS = 40;
/** Warm-up rounds, not counted. */
const WARM_UP = 10;
const id = 'long';

const START: NewEvent = {
  type: 'evaluation/started',
  at: '2026-01-01T00:00:00.000Z',
  evaluationId: 'evaluation-1',
  conversationId: 'main',
  promptNs: 'bench',
  promptKey: 'append',
  promptHash: 'prompt',
  inputHash: 'input',
};

export function opening(section: string): AsyncIterable<Figure> {
  return inDirectory(async function* (path) {
    // The index of ten thousand new messages is updated in the background, which would disturb the measurement.
    const store = await sqliteStore(path('store.db'), { backgroundIndexing: false });
    const messages = Array.from({ length: MESSAGES }, (_, n) => message(n));
    await store.append(id, [START, ...messages.slice(0, -TAIL)], { id: 'a', expectedSeq: 0 });
    const early = await openSession({ store, id, readOnly: true });
    const snapshot = JSON.stringify(early.snapshot());
    const { seq } = await store.append(id, messages.slice(-TAIL), { id: 'b', expectedSeq: MESSAGES - TAIL + 1 });

    const raw = new DatabaseSync(path('store.db'), { readOnly: true });
    const rows = raw.prepare('SELECT seq, at, type, data FROM events ORDER BY position');
    rows.setReturnArrays(true);
    const whole: number[] = [];
    const floor: number[] = [];
    for (let round = -WARM_UP; round < ROUNDS; round++) {
      // In alternating order: the second also collects the first one's garbage.
      const read = async () =>
        floor.push(
          await timed(() => rows.all().map((row) => JSON.parse(String((row as unknown as readonly unknown[])[3])))),
        );
      const open = async () => whole.push(await timed(() => openSession({ store, id, readOnly: true })));
      for (const work of round % 2 ? [open, read] : [read, open]) await work();
      if (round < 0) {
        whole.length = 0;
        floor.length = 0;
      }
    }
    yield atMost(
      section,
      'opening a 10,000-message session / reading and parsing its rows',
      median(whole.map((ms, i) => ms / (floor[i] ?? Number.NaN))),
      1.5,
      `${median(whole).toFixed(0)} ms against ${median(floor).toFixed(0)} ms`,
    );

    await store.writeSnapshot(id, { seq: seq - TAIL, data: snapshot });
    const counting = countingStore(store);
    const resumed: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      resumed.push(await timed(() => openSession({ store: counting.store, id, readOnly: true })));
    }
    yield atMost(section, 'events replayed with a snapshot / events since it', counting.read() / ROUNDS / TAIL, 1);
    yield info(section, 'opening with a snapshot / reading and parsing all rows', median(resumed) / median(floor));
    raw.close();
    await store.close();
  });
}

/** The same store, which counts the events that are read. */
function countingStore(store: Store): { readonly store: Store; read(): number } {
  let read = 0;
  const counting: Store = Object.assign(Object.create(store), {
    async *read(...args: Parameters<Store['read']>) {
      for await (const event of store.read(...args)) {
        read++;
        yield event;
      }
    },
  });
  return { store: counting, read: () => read };
}
