/** Writes files that are complete or not there, and never in place of others: first under a name of their own, then under the one they get. */

import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, type FileHandle, link, lstat, mkdir, open, realpath, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
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

/** Only the owner may see the conversations of a folder. */
const PRIVATE_FOLDER = 0o700;

/**
 * Writes a new file and returns its path: `<folder>/.<random>.tmp`, written and synced, is linked to `<folder>/<name>`. Folders below the root
 * must be folders: a symbolic link there could lead anywhere. `root` is made if it is missing, and may itself be reached through symbolic links. Throws
 * `SESSION_EXISTS` when the file exists, `INVALID_ARGUMENT` when it cannot be written there, `STORE_FULL` when the disk is full.
 */
export async function writeNewFile(root: string, path: readonly string[], content: string): Promise<string> {
  try {
    const folder = await makeFolders(root, path.slice(0, -1));
    const file = join(folder, path.at(-1) ?? '');
    const partial = join(folder, `.${randomUUID()}.tmp`);
    try {
      await writeSynced(partial, (handle) => handle.writeFile(content, 'utf8'));
      await linkNewFile(partial, file, existsError(file));
    } finally {
      await rm(partial, { force: true });
    }
    await syncFolder(folder);
    return file;
  } catch (error) {
    throw writeError(root, error);
  }
}

async function makeFolders(root: string, names: readonly string[]): Promise<string> {
  await makeFolder(root, { mode: PRIVATE_FOLDER });
  let folder = await realpath(root);
  for (const name of names) {
    folder = join(folder, name);
    await mkdir(folder, { mode: PRIVATE_FOLDER }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    if (!(await lstat(folder)).isDirectory()) {
      throw new HoldfastError('INVALID_ARGUMENT', `${folder} is not a folder; nothing is written through a link`);
    }
  }
  return folder;
}

async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open a directory, and needs no sync of it.
  const handle = await open(folder, 'r').catch(() => undefined);
  try {
    await handle?.sync();
  } finally {
    await handle?.close();
  }
}

/** The error for a session that the agent has. */
export function existsError(where: string): HoldfastError {
  return new HoldfastError(
    'SESSION_EXISTS',
    `${where} exists; nothing was overwritten: leave the option sessionId out, or choose another id`,
  );
}
