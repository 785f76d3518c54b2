/**
 * The files of Codex: `sessions/YYYY/MM/DD/rollout-<start>-<thread>.jsonl` below its home (`~/.codex`), the archived ones in
 * `archived_sessions`. A newer rollout of a thread has `<thread>_<rollout>` in its name; any of them may be compressed (`.zst`).
 */
import { basename, dirname, join } from 'node:path';
import { HEAD_LINES, metaIn, type RolloutMeta, rolloutMeta } from '../../transcripts/codex/rollouts/rollout-line.ts';
import type { RolloutInfo } from '../../transcripts/codex/rollouts/session-plan.ts';
import { firstLines } from '../../transcripts/text-lines.ts';
import { openFile } from '../safe-files.ts';
import { walkFolder } from '../walk-folder.ts';
import { isCompressed, unpack } from './compressed-file.ts';

/** A rollout's file, from its name. */
export interface RolloutFile {
  readonly path: string;
  /** When the rollout started, as its name says: local time. */
  readonly start: string;
  readonly threadId: string;
  readonly rolloutId: string;
}

/** A rollout's file with its first line. */
export interface ReadRollout extends RolloutFile, RolloutInfo {
  readonly meta: RolloutMeta | undefined;
}

const NAME =
  /^rollout-(\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2})-([A-Za-z0-9-]{1,100})(?:_([A-Za-z0-9-]{1,100}))?\.jsonl(?:\.zst)?$/;
const DATE_FOLDER = /^\d{1,4}$/;
/** The first line holds the instructions of the agent. */
const FIRST_HEAD = 64 * 1024;
const MAX_HEAD = 4 * 1024 * 1024;
const TAIL_BYTES = 64 * 1024;

/** Reads a rollout's name; `undefined` for other files. */
export function rolloutFile(path: string): RolloutFile | undefined {
  const [, start, threadId, rolloutId] = NAME.exec(basename(path)) ?? [];
  if (start === undefined || threadId === undefined) return undefined;
  return { path, start, threadId, rolloutId: rolloutId ?? threadId };
}

/** A rollout's file with its first line. A file of any name is one if its first line says so. */
export async function readRollout(path: string): Promise<ReadRollout | undefined> {
  const named = rolloutFile(path);
  const meta = await readMeta(path).catch(() => undefined);
  if (named !== undefined) return { ...named, meta };
  if (meta === undefined) return undefined;
  return { path, start: '', threadId: meta.threadId, rolloutId: meta.threadId, meta };
}

/** The files in which the other rollouts of a session may be: all below Codex's home, or those beside a file that is elsewhere. */
export async function listRollouts(path: string): Promise<readonly RolloutFile[]> {
  const home = homeOf(path);
  if (home === undefined) return await rolloutsIn(dirname(path), 0);
  return [...(await rolloutsIn(join(home, 'sessions'), 3)), ...(await rolloutsIn(join(home, 'archived_sessions'), 3))];
}

/** Codex's home, for a file in its place there. */
export function homeOf(path: string): string | undefined {
  let folder = dirname(path);
  if (basename(folder) === 'archived_sessions') return dirname(folder);
  for (let level = 0; level < 3; level++) {
    if (!DATE_FOLDER.test(basename(folder))) return undefined;
    folder = dirname(folder);
  }
  return basename(folder) === 'sessions' || basename(folder) === 'archived_sessions' ? dirname(folder) : undefined;
}

/** The lines at the start of a file, whole ones, up to a number of bytes. */
export async function headLines(path: string, bytes: number): Promise<readonly string[]> {
  const head = await readStart(path, bytes);
  const lines = head.toString('utf8').split('\n');
  if (head.length >= bytes) lines.pop();
  return lines;
}

/** The time of the last line; `undefined` for a compressed file, whose end cannot be read alone. */
export async function lastTime(path: string): Promise<string | undefined> {
  if (isCompressed(path)) return undefined;
  const handle = await openFile(path);
  try {
    const { size } = await handle.stat();
    const from = Math.max(0, size - TAIL_BYTES);
    const buffer = Buffer.alloc(size - from);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, from);
    const times = buffer.toString('utf8', 0, bytesRead).matchAll(/^\{"timestamp":"([^"]{1,40})"/gm);
    return [...times].at(-1)?.[1];
  } finally {
    await handle.close();
  }
}

async function rolloutsIn(folder: string, depth: number): Promise<readonly RolloutFile[]> {
  const found: RolloutFile[] = [];
  await walkFolder(folder, depth, {
    enters: (name) => DATE_FOLDER.test(name),
    file(path) {
      const file = rolloutFile(path);
      if (file) found.push(file);
    },
  });
  return found;
}

/** The `session_meta` of a file: its first line, or one of the next few when that one is damaged. */
async function readMeta(path: string): Promise<RolloutMeta | undefined> {
  for (let bytes = FIRST_HEAD; ; bytes = MAX_HEAD) {
    const head = await readStart(path, bytes);
    const lines = [...firstLines(head.toString('utf8'), HEAD_LINES)];
    const meta = metaIn(lines);
    if (meta) return rolloutMeta(meta);
    if (head.length < bytes || lines.length > 1 || bytes >= MAX_HEAD) return undefined;
  }
}

/** The first bytes of a file, unpacked. */
async function readStart(path: string, bytes: number): Promise<Buffer> {
  if (isCompressed(path)) {
    const pieces: Buffer[] = [];
    let length = 0;
    for await (const piece of unpack(path, () => {})) {
      pieces.push(piece);
      length += piece.length;
      if (length >= bytes) break;
    }
    return Buffer.concat(pieces).subarray(0, bytes);
  }
  const handle = await openFile(path);
  try {
    const buffer = Buffer.alloc(Math.min(bytes, (await handle.stat()).size));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
