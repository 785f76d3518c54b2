/**
 * Creates a file below a root, complete or not at all, and never in place of another one.
 *
 *     <folder>/.<random>.tmp ──write, sync──▶ link ──▶ <folder>/<name>
 *
 * Folders below the root must be folders: a symbolic link there could lead anywhere, so it is refused.
 */
import { randomUUID } from 'node:crypto';
import { lstat, mkdir, open, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { linkNewFile, makeFolder, writeError, writeSynced } from '../complete-file.ts';

/** Only the owner may see the conversations of a folder. */
const PRIVATE_FOLDER = 0o700;

/**
 * Writes a new file and returns its path. `root` is made if it is missing, and may itself be reached through symbolic links. Throws
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
