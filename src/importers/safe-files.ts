/**
 * Reads other programs' files safely. A file found below a root is opened only if it is a regular file whose real path is below that
 * root. Symbolic links are not followed, neither as the file nor as a folder on the way to it, and ids from files or callers never become part
 * of a path unchecked. Every error is a `HoldfastError`.
 */
import { constants as bufferConstants } from 'node:buffer';
import { closeSync, constants, type Dirent, fstatSync, openSync, readSync, realpathSync } from 'node:fs';
import { type FileHandle, open, readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { HoldfastError, messageOf } from '../core/errors.ts';
import { isRecord } from '../core/log/message-problem.ts';
import type { ReportProblem } from './transcript-source.ts';

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

/** Opens a regular file for reading; throws when the path is or contains a symbolic link. */
export async function openFile(path: string): Promise<FileHandle> {
  const handle = await open(path, FOR_READING).catch((error: unknown) => {
    throw cannotRead(path, error);
  });
  try {
    if (!(await handle.stat()).isFile()) throw notRegular(path);
    checkRealPath(path);
    return handle;
  } catch (error) {
    await handle.close();
    throw cannotRead(path, error);
  }
}

/** `openFile`, synchronously; returns a file descriptor. */
export function openFileSync(path: string): number {
  let fd: number | undefined;
  try {
    fd = openSync(path, FOR_READING);
    if (!fstatSync(fd).isFile()) throw notRegular(path);
    checkRealPath(path);
    return fd;
  } catch (error) {
    if (fd !== undefined) closeSync(fd);
    throw cannotRead(path, error);
  }
}

/** A folder on the way may have become a link since it was listed; the opened file is then another one. */
function checkRealPath(path: string): void {
  if (realpathSync.native(path) === path) return;
  throw new HoldfastError('INVALID_ARGUMENT', `${path} leads elsewhere through a symbolic link; name the real path`);
}

/** The error for devices, pipes and the like. */
export function notRegular(path: string): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', `${path} is not a regular file; name a transcript`);
}

/** The error for a file that the system does not let us read. */
export function cannotRead(path: string, error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const isMissing = isRecord(error) && error.code === 'ENOENT';
  return isMissing
    ? new HoldfastError('CONVERSATION_NOT_FOUND', `there is no ${path}: it may have been deleted meanwhile`, {
        cause: error,
      })
    : new HoldfastError('INVALID_ARGUMENT', `${path} cannot be read: ${messageOf(error)}; check its permissions`, {
        cause: error,
      });
}

/** Whether an error says that the system did not let us read a file, or that the file is gone. */
export function isUnreadable(error: unknown): boolean {
  const cause = error instanceof HoldfastError ? error.cause : error;
  return isRecord(cause) && typeof cause.syscall === 'string';
}

/**
 * The first bytes of a file as text, one character per byte. Synchronous: for many small files, a round trip to Node's thread pool takes longer than
 * the reading.
 */
export function readHeadSync(path: string, bytes: number): string {
  const fd = openFileSync(path);
  try {
    const head = Buffer.alloc(bytes);
    return head.toString('latin1', 0, readSync(fd, head, 0, bytes, 0));
  } catch (error) {
    throw cannotRead(path, error);
  } finally {
    closeSync(fd);
  }
}

/** The whole text of a file. Throws `INVALID_ARGUMENT` for a file that is too large for one text, without reading it. */
export async function readText(path: string): Promise<string> {
  const handle = await openFile(path);
  try {
    const { size } = await handle.stat();
    if (size > bufferConstants.MAX_STRING_LENGTH) throw new Error(`it has ${size} bytes`);
    return await handle.readFile('utf8');
  } catch (error) {
    throw notOneText(path, error);
  } finally {
    await handle.close();
  }
}

/** The error for a file that does not fit into one text. */
export function notOneText(path: string, error: unknown): HoldfastError {
  return new HoldfastError(
    'INVALID_ARGUMENT',
    `${path} cannot be loaded as one text: ${messageOf(error)}; use readTranscript for transcripts of any size`,
    { cause: error },
  );
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

/**
 * The entries of a directory without its symbolic links, by name; none when it cannot be read or is itself a symbolic link. `report`
 * receives the directory if it cannot be read, and the entries whose names are not UTF-8.
 */
export async function listDirectory(path: string, report?: ReportProblem): Promise<readonly Dirent[]> {
  return (await readEntries(path, report)).filter((entry) => !entry.isSymbolicLink());
}

/** `listDirectory` with the symbolic links. */
export async function readEntries(path: string, report?: ReportProblem): Promise<readonly Dirent[]> {
  try {
    checkRealPath(path);
    const entries = await readdir(path, { withFileTypes: true });
    if (report) await reportNames(path, entries, report); // before they are opened, which would report that they are not there
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    const isMissing = isRecord(error) && error.code === 'ENOENT';
    if (!isMissing) report?.({ code: 'unreadable', path, message: messageOf(error) });
    return [];
  }
}

/** Stands for bytes that are not UTF-8. A name may also contain it as it is. */
const REPLACED = '\uFFFD';

/** Reports the entries of a folder whose names are not UTF-8: they cannot be opened. */
async function reportNames(path: string, entries: readonly Dirent[], report: ReportProblem): Promise<void> {
  if (!entries.some(({ name }) => name.includes(REPLACED))) return;
  for (const name of await readdir(path, { encoding: 'buffer' })) {
    const text = name.toString('utf8');
    if (Buffer.from(text).equals(name)) continue;
    const message = `the name ${JSON.stringify(text)} is not UTF-8; rename it to read it`;
    report({ code: 'name-not-utf8', path: join(path, text), message });
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
    const hint = path.startsWith('~') ? '; "~" is not expanded: use homedir() of node:os' : '';
    const why = `there is no ${path}: ${messageOf(error)}${hint}`;
    throw new HoldfastError('CONVERSATION_NOT_FOUND', why, { cause: error });
  }
}

/** The real path that a path has once it exists: that of the nearest folder above it that does, and the missing names. */
export async function resolveMissing(path: string): Promise<string> {
  const above = dirname(resolve(path));
  return await realpath(path).catch(async () =>
    above === resolve(path) ? above : join(await resolveMissing(above), basename(path)),
  );
}
