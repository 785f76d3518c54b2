import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openDatabase } from '../../src/stores/sqlite/open-database.ts';
import { EventTable } from '../../src/stores/sqlite/rows/event-table.ts';
import { note, openStore, readAll, temporaryDatabase } from './support/temporary.ts';

/** Appends of any size to a few sessions, and deletions: enough to pass the range after which rows get their final positions. */
const histories = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ key: fc.integer({ min: 1, max: 4 }), size: fc.integer({ min: 1, max: 120 }) }),
    },
    { weight: 1, arbitrary: fc.record({ key: fc.integer({ min: 1, max: 4 }), size: fc.constant(0) }) },
  ),
  { maxLength: 25 },
);

test('any mix of appends and deletions leaves each session its own events, in order, at any position (I1)', async () => {
  await fc.assert(
    fc.asyncProperty(
      histories,
      fc.integer({ min: 1, max: 90 }),
      fc.constantFrom(16, 256),
      async (history, page, every) => {
        const database = await openDatabase(temporaryDatabase());
        try {
          const table = new EventTable(database, every);
          const logs = new Map<number, string[]>();
          /** The seqs that began an append. */
          const begun = new Map<number, number[]>();
          let n = 0;
          database.exec('BEGIN');
          for (const { key, size } of history) {
            const log = logs.get(key) ?? [];
            if (size === 0) {
              for (let rows = table.remaining(key, 7); rows.length > 0; rows = table.remaining(key, 7)) {
                for (const row of rows) table.remove(key, row);
                table.removed();
              }
              logs.delete(key);
              begun.delete(key);
              continue;
            }
            const data = Array.from({ length: size }, () => `{"n":${n++}}`);
            table.insert(
              key,
              log.length + 1,
              'id',
              data.map((each) => ({ at: 'at', type: 'type', data: each })),
            );
            logs.set(key, [...log, ...data]);
            begun.set(key, [...(begun.get(key) ?? []), log.length + 1]);
          }
          database.exec('COMMIT');
          for (let key = 1; key <= 4; key++) {
            const log = logs.get(key) ?? [];
            const read: string[] = [];
            const ids: number[] = [];
            for (;;) {
              const rows = table.read(key, read.length, log.length, page);
              if (rows.length === 0) break;
              for (const [seq, , , data, appendId] of rows) {
                read.push(data);
                if (appendId !== null) ids.push(seq);
                expect(seq).toBe(read.length);
              }
            }
            expect(read).toEqual(log);
            expect(ids).toEqual(begun.get(key) ?? []);
          }
        } finally {
          database.close();
        }
      },
    ),
    { numRuns: 40 },
  );
});

test('rows are read, recognised as repeated and replaced alike before and after they have their final positions (D51, D58)', async () => {
  const store = await openStore(temporaryDatabase());
  const texts = Array.from({ length: 2100 }, (_, i) => `event ${i + 1}`);
  const append = (n: number) => store.append('s', [note(texts[n - 1])], { id: `a${n}`, expectedSeq: n - 1 });
  for (let n = 1; n <= 2100; n++) await append(n);
  for (const n of [1, 1023, 1024, 1025, 2047, 2048, 2049, 2099, 2100]) {
    expect(await append(n)).toEqual({ seq: n });
    const reused = store.append('s', [note('other')], { id: `a${n}`, expectedSeq: n - 1 });
    await expect(reused).rejects.toMatchObject({ code: 'APPEND_ID_REUSED' });
  }
  for (const n of [1, 1024, 1025, 2099, 2100]) {
    await store.replaceEvent('s', { ...note(`replaced ${n}`), seq: n } as never);
    texts[n - 1] = `replaced ${n}`;
  }
  expect((await readAll(store, 's')).map((event) => (event as { text?: unknown }).text)).toEqual(texts);
  expect((await store.check()).problems).toEqual([]);
});
