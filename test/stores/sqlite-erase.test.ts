import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { NewEvent, SessionEvent } from '../../src/core/log/events.ts';
import { chunk, leaseOn, note, openStore, readAll, said, temporaryDatabase } from './support/temporary.ts';

const SECRET = 'xylophonesecretword';

/** The files of a database that contain these bytes. */
function filesWith(path: string, text: string): readonly string[] {
  return readdirSync(dirname(path)).filter((name) => readFileSync(join(dirname(path), name)).includes(text));
}

test.for([
  ['short', SECRET],
  ['longer than a page', `${SECRET} ${'filler '.repeat(5000)} ${SECRET}`],
] as const)(
  'a replaced event, %s, is in no file any more: log, index, snapshot or write-ahead log (D58)',
  async ([, text]) => {
    const path = temporaryDatabase();
    const store = await openStore(path);
    await store.append(
      's',
      Array.from({ length: 50 }, (_, i) => said(`before ${i}`)),
      { id: 'a', expectedSeq: 0 },
    );
    await store.append('s', [said(text)], {
      id: 'b',
      expectedSeq: 50,
      contents: [{ event: 0, hash: 'sha256:secret', text }],
    });
    await store.append(
      's',
      Array.from({ length: 50 }, (_, i) => said(`after ${i}`)),
      { id: 'c', expectedSeq: 51 },
    );
    // Older snapshots are in freed pages.
    for (const seq of [51, 60, 70]) await store.writeSnapshot('s', { seq, data: JSON.stringify({ seq, text }) });
    expect((await store.search(SECRET)).length).toBe(1);
    expect(filesWith(path, SECRET).length).toBeGreaterThan(0);
    await store.replaceEvent('s', { ...said('erased'), seq: 51 } as SessionEvent);
    expect(filesWith(path, SECRET)).toEqual([]);
    expect((await readAll(store, 's')).length).toBe(101);
    expect((await store.check()).problems).toEqual([]);
  },
);

test.for([3, 400])('a deleted session of %d events is in no file', async (count) => {
  const path = temporaryDatabase();
  const store = await openStore(path);
  await store.append('kept', [said('kept')], { id: 'a', expectedSeq: 0 });
  await store.append(
    `id-${SECRET}`,
    Array.from({ length: count }, (_, i) => said(`${SECRET} ${i}`)),
    {
      id: 'a',
      expectedSeq: 0,
      contents: [{ event: count - 1, hash: 'sha256:c', text: SECRET.repeat(1000) }],
      callContents: { put: [{ call: 'c', text: SECRET.repeat(1000) }] },
    },
  );
  const { fence } = await leaseOn(store, `id-${SECRET}`);
  await store.appendDraft(`id-${SECRET}`, [chunk(fence, 1, { delta: SECRET })], { fence });
  await store.writeSnapshot(`id-${SECRET}`, { seq: 1, data: JSON.stringify(SECRET) });
  await store.search(SECRET);
  expect(filesWith(path, SECRET).length).toBeGreaterThan(0);
  await store.deleteSession(`id-${SECRET}`);
  expect(filesWith(path, SECRET)).toEqual([]);
  expect((await store.check()).problems).toEqual([]);
  expect((await store.search('kept')).length).toBe(1);
});

test('a backup is a complete store, made during writes, and never overwrites a file (I1)', async () => {
  const path = temporaryDatabase();
  const target = join(dirname(path), 'backup.db');
  const store = await openStore(path);
  const other = await openStore(path);
  await store.append(
    's',
    Array.from({ length: 3000 }, (_, i) => note(`${i} ${'x'.repeat(2000)}`)),
    { id: 'a', expectedSeq: 0 },
  );
  const backup = store.backup(target);
  const writers = [store, other].map(async (writer, w) => {
    for (let n = 0; n < 30; n++) await writer.append(`w${w}`, [note(n)], { id: `b${n}`, expectedSeq: n });
  });
  await Promise.all([backup, ...writers]);
  const copy = await openStore(target);
  expect((await copy.check()).problems).toEqual([]);
  expect((await copy.head('s')).seq).toBe(3000);
  expect(await copy.append('s', [note('on its own')], { id: 'c', expectedSeq: 3000 })).toEqual({ seq: 3001 });
  expect((await store.head('s')).seq).toBe(3000);

  const before = readFileSync(target);
  await expect(store.backup(target)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  await expect(store.backup(join(dirname(path), 'missing', 'x.db'))).rejects.toMatchObject({ code: 'STORE_FAILED' });
  await expect(store.backup('')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(readFileSync(target).equals(before)).toBe(true);
  expect(existsSync(join(dirname(path), 'missing'))).toBe(false);
});

test('a title that is erased during appends and erasures is in no file, and the summary has everything else (D58)', async () => {
  const path = temporaryDatabase();
  const [store, other] = [await openStore(path), await openStore(path)];
  const described = (fields: object): NewEvent => ({ ...note(0), type: 'session/described', ...fields }) as NewEvent;
  // Long enough that folding it again takes several reads.
  const messages = Array.from({ length: 3000 }, (_, i) => said(`message ${i}`));
  await store.append('s', [described({ title: SECRET }), described({ metadata: { a: 'secret' } }), ...messages], {
    id: 'a',
    expectedSeq: 0,
  });
  const append = async () => {
    for (let n = 0; n < 20; n++) {
      await other.append('s', [described({ metadata: { [`n${n}`]: n } })], { id: `b${n}`, expectedSeq: 3002 + n });
    }
  };
  await Promise.all([
    store.replaceEvent('s', { ...described({ tags: ['x'] }), seq: 1 } as SessionEvent),
    other.replaceEvent('s', { ...described({ metadata: { a: 'erased' } }), seq: 2 } as SessionEvent),
    append(),
  ]);
  const added = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`n${n}`, n]));
  for (const handle of [store, other]) {
    const [session] = (await handle.listSessions()).sessions;
    expect(session).toMatchObject({ tags: ['x'], metadata: { a: 'erased', ...added }, seq: 3022 });
    expect(session).not.toHaveProperty('title');
  }
  expect((await store.head('s')).revision).toBe(2);
  expect(filesWith(path, SECRET)).toEqual([]);
});
