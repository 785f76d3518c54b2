/**
 * Reads other programs' files safely. A file found below a root is opened only if it is a regular file whose real path is below that
 * root. Symbolic links are not followed, and ids from files or callers never become part of a path unchecked.
 */
import { closeSync, constants, type Dirent, fstatSync, openSync } from 'node:fs';
import { type FileHandle, open, readdir, realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { HoldfastError, messageOf } from '../core/errors.ts';

/** Whether an id may be part of a file's name: no separators, no dots. */
export function isSafeId(id: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,199}$/.test(id);
}

/** Returns the id of an agent's session; throws `INVALID_ARGUMENT` when it could be anything else, such as a path. */
export function checkSessionId(id: string): string {
  if (isSafeId(id)) return id;
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    'a session id consists of letters, digits, "-" and "_"; take it from findTranscripts',
  );
}

const FOR_READING = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Opens a regular file for reading; throws when the path is a symbolic link. */
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

/** `openFile`, synchronously; returns a file descriptor. */
export function openFileSync(path: string): number {
  const fd = openSync(path, FOR_READING);
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw notRegular(path);
}

/** The error for devices, pipes and the like. */
export function notRegular(path: string): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', `${path} is not a regular file; name a transcript`);
}

/** The first bytes of a file as text, one character per byte. */
export async function readHead(path: string, bytes: number): Promise<string> {
  const handle = await openFile(path);
  try {
    const head = Buffer.alloc(bytes);
    const { bytesRead } = await handle.read(head, 0, bytes, 0);
    return head.toString('latin1', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** The whole text of a file. */
export async function readText(path: string): Promise<string> {
  const handle = await openFile(path);
  try {
    return await handle.readFile('utf8');
  } catch (error) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `${path} cannot be loaded as one text: ${messageOf(error)}; use readTranscript for transcripts of any size`,
      { cause: error },
    );
  } finally {
    await handle.close();
  }
}

/** The text of a file below a root; `undefined` when it is missing, too large, elsewhere or not readable. */
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

/** Whether the real path of `path` is below a root, which itself contains no symbolic links. */
async function isBelow(root: string, path: string): Promise<boolean> {
  try {
    return (await realpath(path)).startsWith(root.endsWith(sep) ? root : root + sep);
  } catch {
    return false;
  }
}

/** The entries of a directory without its symbolic links, by name; none when it cannot be read. */
export async function listDirectory(path: string): Promise<readonly Dirent[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.filter((entry) => !entry.isSymbolicLink()).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}

/** The names of the directories among entries. */
export function subfoldersOf(entries: readonly Dirent[]): ReadonlySet<string> {
  return new Set(entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])));
}

/** The real path of a path that the caller chose: that one may contain symbolic links. */
export async function resolvePath(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    throw new HoldfastError('CONVERSATION_NOT_FOUND', `there is no ${path}: ${messageOf(error)}`, { cause: error });
  }
}
