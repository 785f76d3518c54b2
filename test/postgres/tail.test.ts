import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { openSession } from '../../src/index.ts';
import type { Store } from '../../src/ports/store.ts';
import { appendNotes, eventsOf, HOLDER, note, upTo } from './support/logs.ts';
import { databaseUrl, dropSchema, newSchema, openStore } from './support/schemas.ts';
import { queryOnce } from './support/server.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function twoStores(): Promise<readonly [Store, Store]> {
  const schema = newSchema();
  cleanUps.push(() => dropSchema(schema));
  const stores = [await openStore({ schema, retryMs: 60_000 }), await openStore({ schema, retryMs: 60_000 })] as const;
  cleanUps.push(() => Promise.all(stores.map((store) => store.close())));
  return stores;
}

/** Follows a session by its notices until it has `count` events; returns the seqs in the order of reading. */
function follow(store: Store, sessionId: string, count: number): Promise<readonly number[]> {
  return new Promise((resolve, reject) => {
    const seqs: number[] = [];
    let reading = Promise.resolve();
    const read = async () => {
      for (const event of await eventsOf(store, sessionId, seqs.length)) seqs.push(event.seq);
      if (seqs.length < count) return;
      stop();
      resolve(seqs);
    };
    const stop = store.watch(sessionId, () => {
      reading = reading.then(read);
      reading.catch(reject);
    });
  });
}

/** Ends random connections of both stores until it is aborted; returns how many it ended. */
async function cutAtRandom(signal: AbortSignal): Promise<number> {
  let cuts = 0;
  while (!signal.aborted) {
    const ended = await queryOnce(
      databaseUrl(),
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast' AND query NOT LIKE '%TABLE%'
       ORDER BY random() LIMIT 2`,
    );
    cuts += ended.length;
    await setTimeout(30);
  }
  return cuts;
}

test('a follower in another process misses and doubles no event while connections of both are cut at random (D53)', async () => {
  const [writer, reader] = await twoStores();
  const sessions = upTo(5).map((n) => `s${n}`);
  const count = 120;
  const followed = sessions.map((id) => follow(reader, id, count));
  const cutting = new AbortController();
  const cuts = cutAtRandom(cutting.signal);
  await Promise.all(sessions.map((id) => appendNotes(writer, id, 1, count)));
  cutting.abort();
  console.log(`${await cuts} connections were cut`);
  for (const seqs of await Promise.all(followed)) expect(seqs).toEqual(upTo(count));
});

test('the live events of a session arrive in another process, drafts included (D74)', async () => {
  const [writer, reader] = await twoStores();
  await appendNotes(writer, 's', 1, 1);
  const session = await openSession({ store: reader, id: 's' });
  cleanUps.push(() => session.close());
  const seen: number[] = [];
  const stop = new AbortController();
  const reading = (async () => {
    for await (const { seq } of session.events({ live: true, signal: stop.signal })) {
      seen.push(seq);
      if (seen.length === 30) return;
    }
  })();
  await appendNotes(writer, 's', 2, 30);
  await reading;
  expect(seen).toEqual(upTo(30));
  const { lease } = await writer.acquireLease('s', { holder: HOLDER, ttlMs: 60_000 });
  const heard = new Promise<void>((resolve, reject) => {
    const unwatch = reader.watch('s', () => {
      reader.readDraft('s').then((chunks) => {
        if (chunks.length !== 1) return;
        unwatch();
        resolve();
      }, reject);
    });
  });
  const { fence } = lease;
  const chunk = { fence, n: 1, draftId: 'e', evaluationId: 'e', turn: 1, attempt: 1, blockId: 'b', delta: 'Hello' };
  await writer.appendDraft('s', [chunk], { fence });
  await heard;
});

test('an event that was committed without a notice is found by looking', async () => {
  const [writer, reader] = await twoStores();
  await appendNotes(writer, 's', 1, 1);
  const followed = follow(reader, 's', 2);
  // The commit of a process that died before it sent its notice.
  const schema = (writer as unknown as { settings(): { readonly schema: string } }).settings().schema;
  await queryOnce(
    databaseUrl(),
    `WITH s AS (UPDATE "${schema}".sessions SET seq = 2 WHERE id = 's' RETURNING key)
     INSERT INTO "${schema}".events SELECT key, 2, 'b', '2026-01-01T00:00:00.000Z', 'note/added', '{}' FROM s`,
  );
  expect(await followed).toEqual([1, 2]);
});

test('work in another process is announced to those who watch for it', async () => {
  const schema = newSchema();
  cleanUps.push(() => dropSchema(schema));
  const [sender, worker] = [await openStore({ schema }), await openStore({ schema })];
  cleanUps.push(() => Promise.all([sender.close(), worker.close()]));
  const found = new Promise<readonly string[]>((resolve) => {
    worker.watchWork(() => {
      void worker.sessionsWithWork().then((sessions) => sessions.length > 0 && resolve(sessions.map(({ id }) => id)));
    });
  });
  await appendNotes(sender, 'idle', 1, 1);
  const session = await openSession({ store: sender, id: 'busy' });
  await session.send('Hello');
  expect(await found).toEqual(['busy']);
  const attempt = await worker.acquireLease('busy', { holder: HOLDER, ttlMs: 60_000 });
  expect(await worker.sessionsWithWork()).toEqual([]);
  await worker.releaseLease('busy', attempt.lease.fence);
  expect(await worker.sessionsWithWork({ limit: 1 })).toMatchObject([{ id: 'busy', work: 'input' }]);
  await session.close();
});

test('extra SQL runs in the transaction of the append: both are there or neither', async () => {
  const schema = newSchema();
  cleanUps.push(() => dropSchema(schema));
  const store = await openStore({ schema });
  cleanUps.push(() => store.close());
  await queryOnce(databaseUrl(), `CREATE TABLE "${schema}".jobs (session text NOT NULL, seq int NOT NULL)`);
  const stop = store.joinAppends({
    wants: ({ summary }) => summary.work !== undefined,
    async run(transaction, appends) {
      for (const { sessionId, seq } of appends) {
        await transaction.query(`INSERT INTO "${schema}".jobs VALUES ($1, $2)`, [
          sessionId === 'refused' ? null : sessionId,
          seq,
        ]);
      }
    },
  });
  const input = { type: 'input/queued', at: '2026-01-01T00:00:00.000Z', id: 'i', mode: 'next', content: [] } as never;
  const outcomes = await Promise.allSettled(
    ['a', 'b', 'refused', 'c'].map((id) => store.append(id, [input], { id: 'a', expectedSeq: 0 })),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  await store.append('plain', [note(1)], { id: 'a', expectedSeq: 0 });
  const jobs = () => queryOnce(databaseUrl(), `SELECT session FROM "${schema}".jobs ORDER BY session`);
  expect(await jobs()).toEqual(['a', 'b', 'c'].map((session) => ({ session })));
  expect((await store.head('refused')).seq).toBe(0);
  stop();
  await store.append('d', [input], { id: 'a', expectedSeq: 0 });
  expect(await jobs()).toHaveLength(3);
});
