import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { matchText, parseQuery } from '../../src/stores/search-text.ts';
import { Database } from '../../src/stores/sqlite/driver.ts';
import { note, openStore, said, temporaryDatabase } from './support/temporary.ts';

/** The indexed position of each session, as another connection sees it. */
function progress(path: string): unknown {
  const database = new Database(path, { readOnly: true, timeoutMs: 5000 });
  const rows = database.prepareValue<[], number>('SELECT indexed_seq FROM sessions ORDER BY key').all();
  database.close();
  return rows;
}

const text = fc.string({
  unit: fc.constantFrom(...'aAbBäÄé́ß_-".*:()^+1２中国の\u0301\ud83d😀 \n\t'.split('')),
  maxLength: 30,
});

test('the index and the definition of a match agree on any text and any query (I10)', async () => {
  const store = await openStore(temporaryDatabase());
  let seq = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(text, { minLength: 1, maxLength: 8 }),
      fc.array(text, { maxLength: 4 }),
      async (texts, queries) => {
        const sessionId = `s${seq++}`;
        await store.append(sessionId, texts.map(said), { id: 'a', expectedSeq: 0 });
        for (const query of [...queries, ...texts, ...texts.map((each) => `"${each}"`)]) {
          const expected = texts.flatMap((each, i) =>
            matchText(each, parseQuery(query)) === undefined ? [] : [i + 1],
          );
          const found = (await store.search(query, { sessionId, limit: 100 })).map((hit) => hit.seq);
          expect(found.sort((a, b) => a - b)).toEqual(expected);
        }
      },
    ),
    { numRuns: 60 },
  );
});

test('the index is updated in the background, after the append and without a search', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const path = temporaryDatabase();
  const store = await openStore(path);
  await store.append('s', [said('one'), note(2), said('three')], { id: 'a', expectedSeq: 0 });
  expect(progress(path)).toEqual([0]);
  vi.advanceTimersByTime(5000);
  // On a busy machine a slice ends early, and the next one waits for a timer.
  while (JSON.stringify(progress(path)) !== '[3]') {
    vi.advanceTimersByTime(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await store.append('s', [said('four')], { id: 'b', expectedSeq: 3 });
  expect(progress(path)).toEqual([3]);
});

test('events that a process left unindexed are indexed by the next one, in the background or by its first search', async () => {
  const path = temporaryDatabase();
  const first = await openStore(path);
  await first.append('s', [said('one')], { id: 'a', expectedSeq: 0 });
  await first.close();
  expect(progress(path)).toEqual([0]);
  const second = await openStore(path);
  expect((await second.search('one')).length).toBe(1);
  expect(progress(path)).toEqual([1]);
});

test('an index of another version is rebuilt, and not used before', async () => {
  const path = temporaryDatabase();
  const store = await openStore(path);
  await store.append('s', [said('one'), said('two')], { id: 'a', expectedSeq: 0 });
  await store.search('one');
  await store.close();
  const other = new Database(path, { timeoutMs: 5000 });
  other.exec(`UPDATE counters SET value = 999 WHERE name = 'search version';
    INSERT INTO search (search) VALUES ('delete-all');
    INSERT INTO search (rowid, words) VALUES ((1 << 32) | 1, 'two'), ((1 << 32) | 2, 'one')`);
  other.close();
  const reader = await openStore(path, { readOnly: true });
  expect((await reader.search('one')).map((hit) => hit.seq)).toEqual([1]);
  await reader.close();
  const again = await openStore(path);
  await again.replaceEvent('s', { ...said('three'), seq: 2 } as never);
  expect((await again.search('one')).map((hit) => hit.seq)).toEqual([1]);
  expect((await again.search('two')).map((hit) => hit.seq)).toEqual([]);
  expect((await again.search('three')).map((hit) => hit.seq)).toEqual([2]);
  expect((await again.check()).problems).toEqual([]);
});

test('an append does not pay for the index: nothing is indexed when it returns', async () => {
  const path = temporaryDatabase();
  const store = await openStore(path);
  for (let n = 0; n < 20; n++) await store.append('s', [said(`word${n}`)], { id: `a${n}`, expectedSeq: n });
  const database = new Database(path, { readOnly: true, timeoutMs: 5000 });
  expect(database.prepareValue<[], number>('SELECT count(*) FROM search_docsize').get()).toBe(0);
  database.close();
});

test('hits that are not indexed yet are in order with the others', async () => {
  const path = temporaryDatabase();
  const store = await openStore(path);
  await store.append('old', [said('apple one')], { id: 'a', expectedSeq: 0 });
  await store.append('new', [said('apple two')], { id: 'a', expectedSeq: 0 });
  await store.search('apple');
  await store.append('old', [said('apple three')], { id: 'b', expectedSeq: 1 });
  expect(progress(path)).toEqual([1, 1]);
  const reader = await openStore(path, { readOnly: true });
  const found = async (limit: number) =>
    (await reader.search('apple', { limit })).map(({ sessionId, seq }) => `${sessionId}/${seq}`);
  expect(await found(10)).toEqual(['new/1', 'old/2', 'old/1']);
  expect(await found(2)).toEqual(['new/1', 'old/2']);
});
