/** I6: an append is sent as one of several statements, by what it has and by what is sent with it. Each of them compares the fence. */
import { expect, onTestFinished, test } from 'vitest';
import type { AppendOptions, Store } from '../../src/ports/store.ts';
import { HOLDER, note } from './support/logs.ts';
import { dropSchema, newSchema, openStore } from './support/schemas.ts';

type Form = readonly [what: string, events: number, besides: Partial<AppendOptions>];

const FORMS: readonly Form[] = [
  ['one event', 1, {}],
  ['many events', 9, {}],
  ['that ends a draft', 1, { endsDrafts: ['draft'] }],
  ['with external content', 1, { contents: [{ event: 0, hash: 'sha256:x', text: 'x' }] }],
  ['with the arguments of a call', 1, { callContents: { put: [{ call: 'c', text: '{}' }], drop: [] } }],
];

/** A session with one event, and the fences of two leases: the second has replaced the first. */
async function takenOver(store: Store): Promise<{ readonly stale: number; readonly current: number }> {
  const { lease: first } = await store.acquireLease('s', { holder: HOLDER, ttlMs: 60_000 });
  await store.append('s', [note(1)], { id: 'first', expectedSeq: 0, fence: first.fence });
  const { lease: second } = await store.acquireLease('s', { holder: HOLDER, ttlMs: 60_000, replacing: first });
  return { stale: first.fence, current: second.fence };
}

async function storeForTest(): Promise<Store> {
  const schema = newSchema();
  const store = await openStore({ schema });
  onTestFinished(async () => {
    await store.close();
    await dropSchema(schema);
  });
  return store;
}

test.for(FORMS)('I6: under a stale fence an append of %s writes nothing', async ([, count, besides]) => {
  const store = await storeForTest();
  const { stale, current } = await takenOver(store);
  const events = Array.from({ length: count }, (_, i) => note(i));
  const append = (fence: number): Promise<{ readonly seq: number }> =>
    store.append('s', events, { id: `under ${fence}`, expectedSeq: 1, fence, ...besides });
  await expect(append(stale)).rejects.toMatchObject({ code: 'SESSION_CONFLICT', detail: 'fence' });
  expect((await store.head('s')).seq).toBe(1);
  expect(await append(current)).toEqual({ seq: 1 + count });
});

test('I6: under a stale fence an append writes nothing beside appends of other sessions, which are written', async () => {
  const store = await storeForTest();
  const { stale } = await takenOver(store);
  const others = Array.from({ length: 20 }, (_, i) => `other ${i}`);
  const [late, ...written] = await Promise.allSettled([
    store.append('s', [note('late'), note('too late')], {
      id: 'late',
      expectedSeq: 1,
      fence: stale,
      endsDrafts: ['d'],
    }),
    ...others.map((id) => store.append(id, [note(id)], { id: 'a', expectedSeq: 0 })),
  ]);
  expect(late).toMatchObject({ status: 'rejected', reason: { code: 'SESSION_CONFLICT', detail: 'fence' } });
  expect(written.map(({ status }) => status)).toEqual(others.map(() => 'fulfilled'));
  expect((await store.head('s')).seq).toBe(1);
});
