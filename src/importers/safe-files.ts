/**
 * Reading other programs' files without being led astray: what is found below a root is opened only if it is a regular file that
 * really lies there. Symbolic links are not followed, and ids from files or callers never become paths unchecked.
 */
import { closeSync, constants, type Dirent, fstatSync, openSync } from 'node:fs';
import { type FileHandle, open, readdir, realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { HoldfastError, messageOf } from '../core/errors.ts';

/** Whether an id may be part of a file's name: no separators, no way up. */
export function isSafeId(id: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,199}$/.test(id);
}

/** Refuses an id that could name anything but a session. */
export function checkSessionId(id: string): string {
  if (isSafeId(id)) return id;
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    'a session id consists of letters, digits, "-" and "_"; take it from findTranscripts',
  );
}

const FOR_READING = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Opens a regular file for reading; a link in its last place is refused. */
export async function openFile(path: string): Promise<FileHandle> {
  const handle = await open(path, FOR_READING);
  try {
    if ((await handle.stat()).isFile()) return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
  await handle.close();
  throw notRegular(path);
}

/** The same at once; answers a file descriptor. */
export function openFileSync(path: string): number {
  const fd = openSync(path, FOR_READING);
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw notRegular(path);
}

function notRegular(path: string): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', `${path} is not a regular file; name a transcript`);
}

/** The text of a file below a root, or `undefined` when it is not there or not to be read. */
export async function readFileBelow(root: string, path: string, maxBytes: number): Promise<string | undefined> {
  if (!(await isBelow(root, path))) return undefined;
  try {
    const handle = await openFile(path);
    try {
      if ((await handle.stat()).size > maxBytes) return undefined;
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch {
    return undefined;
  }
}

/** Whether a path really leads to a place below a root, which has no links in it. */
async function isBelow(root: string, path: string): Promise<boolean> {
  try {
    return (await realpath(path)).startsWith(root.endsWith(sep) ? root : root + sep);
  } catch {
    return false;
  }
}

/** What a directory holds, without its links; nothing when it cannot be read. */
export async function listDirectory(path: string): Promise<readonly Dirent[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.filter((entry) => !entry.isSymbolicLink()).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}

/** The path without its links; the caller's own choice may be one. */
export async function resolvePath(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    throw new HoldfastError('CONVERSATION_NOT_FOUND', `there is no ${path}: ${messageOf(error)}`, { cause: error });
  }
}
