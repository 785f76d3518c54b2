/** Commits that the disk refuses: nothing of them is acknowledged. */
import { expect, onTestFinished, test } from 'vitest';
import type { SqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { note, openStore, readAll, temporaryDatabase } from './support/temporary.ts';
import { traceCommits } from './support/traced-commits.ts';

const IO_ERROR = { code: 'ERR_SQLITE_ERROR', errcode: 10 };

/** A store on a disk that refuses every commit while it is failing. */
async function storeOnBadDisk(): Promise<{ readonly store: SqliteStore; readonly disk: { isFailing: boolean } }> {
  const disk = { isFailing: false };
  const before = (): void => {
    if (disk.isFailing) throw Object.assign(new Error('disk I/O error'), IO_ERROR);
  };
  onTestFinished(traceCommits({ before }));
  return { store: await openStore(temporaryDatabase(), { backgroundIndexing: false }), disk };
}

test('an append whose commit fails is rejected, not read and not announced, and can be made again (I1)', async () => {
  const { store, disk } = await storeOnBadDisk();
  const append = (n: number) => store.append('s', [note(n)], { id: `append ${n}`, expectedSeq: n - 1 });
  await append(1);
  let announced = 0;
  store.watch('s', () => announced++);
  disk.isFailing = true;
  await expect(append(2)).rejects.toMatchObject({ code: 'STORE_FAILED' });
  disk.isFailing = false;
  expect(announced).toBe(0);
  expect(await readAll(store, 's')).toHaveLength(1);
  expect(await append(2)).toEqual({ seq: 2 });
});

test('appends that share a commit which fails are rejected together (I1)', async () => {
  const { store, disk } = await storeOnBadDisk();
  disk.isFailing = true;
  const sessions = ['a', 'b', 'c'];
  const appends = sessions.map((id) => store.append(id, [note(id)], { id: 'append', expectedSeq: 0 }));
  const outcomes = await Promise.allSettled(appends);
  disk.isFailing = false;
  expect(outcomes.map(({ status }) => status)).toEqual(sessions.map(() => 'rejected'));
  expect((await store.listSessions()).sessions).toEqual([]);
});
