/**
 * A private copy of another program's SQLite database, with its write-ahead log. SQLite creates files beside a database that it reads, and it
 * cannot read one in a folder where it may not; a copy in a folder of our own has neither problem, and the original is only read.
 */
import { type FileHandle, mkdtemp, open, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { HoldfastError, isHoldfastError, messageOf } from '../../core/errors.ts';
import { openFile } from '../safe-files.ts';

/** A copy, and how to delete it. */
export interface PrivateCopy {
  readonly path: string;
  remove(): Promise<void>;
}

const CHUNK = 1024 * 1024;
const HEADER_BYTES = 100;
const LOG_HEADER_BYTES = 32;
const ATTEMPTS = 5;
/** A database whose header does not name its size is copied only up to this. */
const MAX_UNMEASURED = 64 * 1024 * 1024;

/** Copies a database. Throws `STORE_BUSY` when it is rewritten all the time, `STORE_CORRUPT` when its header is damaged. */
export async function copyDatabase(path: string): Promise<PrivateCopy> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'holdfast-opencode-'));
  const copy = { path: join(folder, basename(path)), remove: () => rm(folder, { recursive: true, force: true }) };
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) if (await copyOnce(path, copy.path)) return copy;
    throw new HoldfastError('STORE_BUSY', `${path} changed during each attempt to copy it; try again later`);
  } catch (error) {
    await copy.remove();
    if (isHoldfastError(error)) throw error;
    const next = 'check its permissions, and that the folder for temporary files (TMPDIR) has enough space';
    throw new HoldfastError('STORE_FAILED', `${path} cannot be copied: ${messageOf(error)}; ${next}`, { cause: error });
  }
}

/**
 * Copies both files; false when they do not fit together. While the database does not change and the log does not start again, every state of the
 * log that is copied is one that the program committed: SQLite ignores an incomplete end.
 */
async function copyOnce(from: string, to: string): Promise<boolean> {
  const database = await openFile(from);
  let log: FileHandle | undefined;
  try {
    log = await openLog(`${from}-wal`);
    const before = await versionOf(database, log);
    await copyBytes(database, to, await sizeOf(database, from));
    if (log) await copyBytes(log, `${to}-wal`, (await log.stat()).size);
    return before === (await versionOf(database, log));
  } finally {
    await database.close();
    await log?.close();
  }
}

async function openLog(path: string): Promise<FileHandle | undefined> {
  return await openFile(path).catch((error: unknown) => {
    if (isHoldfastError(error, 'CONVERSATION_NOT_FOUND')) return undefined;
    throw error;
  });
}

/** Changes when the database is written, or when its log starts again. */
async function versionOf(database: FileHandle, log: FileHandle | undefined): Promise<string> {
  const { size, mtimeNs } = await database.stat({ bigint: true });
  const head = log === undefined ? Buffer.alloc(0) : await readAt(log, 0, LOG_HEADER_BYTES);
  return `${size} ${mtimeNs} ${head.toString('hex')}`;
}

/** The size of a database by its header: the file may be larger, up to a sparse one of any size. */
async function sizeOf(database: FileHandle, path: string): Promise<number> {
  const header = await readAt(database, 0, HEADER_BYTES);
  const { size } = await database.stat();
  if (header.length < HEADER_BYTES) return size;
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  const pages = header.readUInt32BE(28);
  const isValid = pages > 0 && header.readUInt32BE(24) === header.readUInt32BE(92);
  if (isValid) return Math.min(size, pages * pageSize);
  if (size <= MAX_UNMEASURED) return size;
  throw new HoldfastError('STORE_CORRUPT', `${path} does not say how large its database is; repair it with sqlite3`);
}

async function copyBytes(from: FileHandle, path: string, size: number): Promise<void> {
  const to = await open(path, 'w', 0o600);
  try {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK, Math.max(1, size)));
    const zeros = Buffer.alloc(buffer.length);
    for (let at = 0; at < size; ) {
      const { bytesRead } = await from.read(buffer, 0, Math.min(buffer.length, size - at), at);
      if (bytesRead === 0) break;
      const isHole = buffer.subarray(0, bytesRead).equals(zeros.subarray(0, bytesRead));
      if (!isHole) await to.write(buffer, 0, bytesRead, at);
      at += bytesRead;
    }
    await to.truncate(size);
  } finally {
    await to.close();
  }
}

async function readAt(handle: FileHandle, at: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await handle.read(buffer, 0, length, at);
  return buffer.subarray(0, bytesRead);
}
