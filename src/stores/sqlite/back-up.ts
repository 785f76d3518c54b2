import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Database } from 'better-sqlite3';
import { HoldfastError } from '../../core/errors.ts';
import { storeError } from './sqlite-errors.ts';

const FIRST_STEP_PAGES = 1000;

/** Copies the database to a file that must not exist, in steps, while others read and write. */
export async function backUp(database: Database, target: string): Promise<void> {
  if (typeof target !== 'string' || target === '' || target !== target.trim()) {
    throw new HoldfastError('INVALID_ARGUMENT', 'a backup needs the path of a new file, without spaces at its ends');
  }
  const file = resolve(target);
  if (existsSync(file)) {
    throw new HoldfastError('INVALID_ARGUMENT', `${file} exists; a backup never overwrites: choose a new path`);
  }
  if (!existsSync(dirname(file))) {
    throw new HoldfastError('STORE_FAILED', `the directory ${dirname(file)} does not exist; create it first`);
  }
  let step = FIRST_STEP_PAGES;
  let left = Number.POSITIVE_INFINITY;
  try {
    await database.backup(file, {
      progress({ remainingPages }) {
        // Another process's commit makes SQLite begin again. Larger steps outrun it in the end.
        if (remainingPages >= left) step *= 4;
        left = remainingPages;
        return step;
      },
    });
  } catch (error) {
    throw storeError(error, file);
  }
}
