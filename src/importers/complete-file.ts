/** Writes files that are complete or not there, and never in place of others: first under a name of their own, then under the one they get. */
import { constants } from 'node:fs';
import { copyFile, type FileHandle, link, mkdir, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { HoldfastError, isHoldfastError, messageOf } from '../core/errors.ts';

/** Only the owner may read a conversation. */
const PRIVATE_FILE = 0o600;
/** Errors of file systems that have no hard links. */
const NO_LINKS: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);
const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);

/** Writes a new file and waits until its content is on the disk. */
export async function writeSynced(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await open(path, 'wx', PRIVATE_FILE);
  try {
    await write(file);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Gives a complete file its name. A link, unlike a rename, fails when the name is taken: then this throws `taken`. */
export async function linkNewFile(complete: string, path: string, taken: HoldfastError): Promise<void> {
  const orCopy = async (error: NodeJS.ErrnoException): Promise<void> => {
    if (!NO_LINKS.has(error.code)) throw error;
    await copyFile(complete, path, constants.COPYFILE_EXCL);
  };
  await link(complete, path)
    .catch(orCopy)
    .catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'EEXIST' ? taken : error;
    });
}

/** The typed error for a transcript that could not be written below a folder: `STORE_FULL`, or `INVALID_ARGUMENT` with the reason. */
export function writeError(folder: string, error: unknown): HoldfastError {
  if (isHoldfastError(error)) return error;
  if (FULL.has((error as NodeJS.ErrnoException).code)) {
    return new HoldfastError('STORE_FULL', `${folder} is full; free space and try again`, { cause: error });
  }
  const advice = `no transcript can be written below ${folder}: ${messageOf(error)}; check it, or name another folder`;
  return new HoldfastError('INVALID_ARGUMENT', advice, { cause: error });
}

/**
 * Makes a folder and those above it that are missing. Node's recursive `mkdir` never returns where a system says of a new folder that it
 * does not exist, as Linux does in `/proc`.
 */
export async function makeFolder(path: string, options: { readonly mode?: number } = {}): Promise<void> {
  const missing: string[] = [];
  for (let folder = resolve(path); !(await exists(folder)); folder = dirname(folder)) {
    missing.push(folder);
    if (folder === dirname(folder)) break;
  }
  for (const folder of missing.reverse()) {
    await mkdir(folder, options).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error; // another process made it
    });
  }
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
