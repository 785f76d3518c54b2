import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, open, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { HoldfastError } from '../../../core/errors.ts';
import { Database } from '../driver.ts';
import { DEFAULT_BUSY_TIMEOUT_MS } from '../open-database.ts';
import { untilFree } from './busy.ts';
import { storeError } from './sqlite-errors.ts';

/**
 * Copies the database to a file that must not exist, while other connections read and write.
 *
 *     source ──copy──▶ <target>.<random>.partial ──sync──▶ <target>
 *
 * The target appears when it is complete and durable: a backup that is killed leaves no file that opens as a store.
 */
export async function backUp(source: string, target: string): Promise<void> {
  if (typeof target !== 'string' || target === '' || target !== target.trim()) {
    throw new HoldfastError('INVALID_ARGUMENT', 'a backup needs the path of a new file, without spaces at its ends');
  }
  const file = resolve(target);
  if (existsSync(file)) throw exists(file);
  if (!existsSync(dirname(file))) {
    throw new HoldfastError('STORE_FAILED', `the directory ${dirname(file)} does not exist; create it first`);
  }
  const partial = `${file}.${randomUUID()}.partial`;
  try {
    await copy(source, partial);
    await sync(partial);
    // Unlike a rename, a link fails when another process has made the target meanwhile.
    await link(partial, file).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'EEXIST' ? exists(file) : error;
    });
    await rm(partial);
    await sync(dirname(file));
  } catch (error) {
    await Promise.all(['', '-journal', '-wal', '-shm'].map((end) => rm(partial + end, { force: true })));
    throw storeError(error, file);
  }
}

async function copy(source: string, partial: string): Promise<void> {
  // A connection of its own: the copy is one read transaction, and the store's connection must stay free for writing.
  const connection = await untilFree(source, DEFAULT_BUSY_TIMEOUT_MS, () => new Database(source, { readOnly: true }));
  try {
    await connection.copyTo(partial);
  } finally {
    connection.close();
  }
}

async function sync(path: string): Promise<void> {
  // Windows cannot open a directory, and needs no sync of it.
  const handle = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EISDIR' || error.code === 'EPERM') return undefined;
    throw error;
  });
  try {
    await handle?.sync();
  } finally {
    await handle?.close();
  }
}

function exists(file: string): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', `${file} exists; a backup never overwrites: choose a new path`);
}
