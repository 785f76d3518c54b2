/**
 * The first and the last lines of a Claude Code file, from which a session is summarized. A line is parsed only when its fields are needed: for most
 * sessions those of a few lines are enough. Reads are synchronous: for many small files, a round trip to Node's thread pool takes longer.
 */
import { closeSync, fstatSync, readSync } from 'node:fs';
import { parseLine } from '../../transcripts/claude/transcript-line.ts';
import { asName, type Json } from '../../transcripts/json-access.ts';
import { cannotRead, openFileSync } from '../safe-files.ts';
import { NoiseHead } from './file-lines.ts';

const SAMPLE_BYTES = 64 * 1024;
/** A pasted image makes a line of some megabytes; a sample that holds no whole line grows up to this. */
const MAX_SAMPLE_BYTES = 16 * 1024 * 1024;
/** A sample with this many lines shows what the file is. */
const ENOUGH_LINES = 16;
const HEAD_BYTES = 4096;
/** Claude Code writes the role of a line within its first bytes. */
const ROLE_BYTES = 1024;
/** Counting the messages of larger files would take long. */
const MAX_COUNTED_BYTES = 32 * 1024 * 1024;
const READ = 1024 * 1024;
const NEWLINE = 10;
const SPACE = 32;

/** A line of a sample. It is valid as long as its file is open. */
export class SampledLine {
  /** Where Claude Code writes the type and the role of a line. One character for each byte. */
  readonly start: string;
  readonly #buffer: Buffer;
  readonly #from: number;
  readonly #end: number;
  #objects: readonly Json[] | undefined;

  constructor(buffer: Buffer, from: number, end: number) {
    this.start = buffer.toString('latin1', from, Math.min(end, from + ROLE_BYTES));
    this.#buffer = buffer;
    this.#from = from;
    this.#end = end;
  }

  /** The objects in the line: one, several that were written without a newline between them, or none. */
  get objects(): readonly Json[] {
    this.#objects ??= parseLine(this.#buffer.toString('utf8', this.#from, this.#end))?.lines ?? [];
    return this.#objects;
  }
}

/** What is known of a file without parsing all of its lines. */
export interface FileSample {
  readonly size: number;
  readonly mtime: Date;
  readonly head: readonly SampledLine[];
  /** The last lines. In a small file they overlap with the first ones. */
  readonly tail: readonly SampledLine[];
  /** The file is Claude Code's: it names a session, or its messages name their parents. */
  readonly isClaude: boolean;
  /** The number of messages; `undefined` for very large files. */
  readonly messages: number | undefined;
}

/** Samples a file, counts its messages, and summarizes the sample with `work` while the file is open. */
export function sampleFile<T>(path: string, work: (sample: FileSample) => T): T {
  return withFile(path, (file) => {
    const head = sampleLines(file, 'head');
    const tail = sampleLines(file, 'tail');
    const isClaude = sessionIdOf(head) !== undefined || isClaudeFile(file, head);
    const { size, mtime } = file;
    const messages = isClaude && size <= MAX_COUNTED_BYTES ? countIn(file.read(0, size)) : undefined;
    return work({ size, mtime, head, tail, isClaude, messages });
  });
}

/** The id of the session that the first lines of a file belong to. */
export function sampleSessionId(path: string): string | undefined {
  return withFile(path, (file) => sessionIdOf(sampleLines(file, 'head')));
}

/** A file that is open. `read` returns a piece of it, or as much of that as there is; it is valid until the next `read`. */
interface OpenedSample {
  readonly size: number;
  readonly mtime: Date;
  read(from: number, length: number): Buffer;
}

/** The id of the session that lines belong to. */
export function sessionIdOf(lines: readonly SampledLine[]): string | undefined {
  return firstIn(lines, (line) => asName(line.sessionId));
}

/** The first value that a function returns for the objects of some lines. */
export function firstIn<T>(lines: Iterable<SampledLine>, choose: (line: Json) => T | undefined): T | undefined {
  for (const { objects } of lines) {
    for (const line of objects) {
      const chosen = choose(line);
      if (chosen !== undefined) return chosen;
    }
  }
  return undefined;
}

/** The complete lines within a sample, which grows where lines are long. */
function sampleLines({ size, read }: OpenedSample, where: 'head' | 'tail'): readonly SampledLine[] {
  for (let bytes = SAMPLE_BYTES; ; bytes *= 4) {
    const from = where === 'head' ? 0 : Math.max(0, size - bytes);
    const piece = read(from, Math.min(bytes, size - from));
    const lines = linesIn(piece, from === 0, from + piece.length >= size);
    if (bytes >= size || bytes >= MAX_SAMPLE_BYTES || isEnough(lines, where)) return lines;
  }
}

/** The lines in a piece of a file; those that are cut at its ends are left out. */
function linesIn(piece: Buffer, isStart: boolean, isEnd: boolean): readonly SampledLine[] {
  const lines: SampledLine[] = [];
  let start = isStart ? 0 : piece.indexOf(NEWLINE) + 1 || piece.length;
  while (start < piece.length) {
    const newline = piece.indexOf(NEWLINE, start);
    if (newline < 0 && !isEnd) break;
    const end = newline < 0 ? piece.length : newline;
    if (!isBlank(piece, start, end)) lines.push(new SampledLine(piece, start, end));
    start = end + 1;
  }
  return lines;
}

function isBlank(piece: Buffer, start: number, end: number): boolean {
  return (piece[start] ?? 0) <= SPACE && piece.toString('latin1', start, end).trim() === '';
}

/** Whether a sample holds what a summary needs: the session and its first prompt, or its last time. */
function isEnough(lines: readonly SampledLine[], where: 'head' | 'tail'): boolean {
  if (lines.length >= ENOUGH_LINES) return true;
  if (where === 'tail') return firstIn(lines, (line) => asName(line.timestamp)) !== undefined;
  const prompt = firstIn(lines, (line) => (line.type === 'user' ? line : undefined));
  return sessionIdOf(lines) !== undefined && prompt !== undefined;
}

/** Whether a file without the id of a session in its first lines is Claude Code's: its messages name their parents. */
function isClaudeFile({ size, read }: OpenedSample, head: readonly SampledLine[]): boolean {
  const message = (line: Json): true | undefined =>
    'parentUuid' in line && asName(line.type) !== undefined ? true : undefined;
  if (head.some(({ objects }) => objects.length > 0)) return firstIn(head, message) === true;
  if (size <= MAX_SAMPLE_BYTES) return false; // all of it was read
  // The first line is too long for a sample: its fields are before or after its content.
  return [0, size - HEAD_BYTES].some((from) =>
    /"parentUuid":(?:null|")/.test(read(from, HEAD_BYTES).toString('latin1')),
  );
}

/**
 * The number of messages in a file. Only the start of each line is decoded, where Claude Code writes the role, and not even that of progress:
 * most lines of a file follow another one of it.
 */
function countIn(buffer: Buffer): number {
  let count = 0;
  let progress: NoiseHead | undefined;
  const glued = GLUED.map((text) => finder(buffer, text));
  for (let start = 0; start < buffer.length; ) {
    const newline = buffer.indexOf(NEWLINE, start);
    // A record behind another one on a line counts like a line.
    const end = Math.min(newline < 0 ? buffer.length : newline, ...glued.map((next) => next(start)));
    if (!progress?.matches(buffer, start, end)) {
      const prefix = buffer.toString('latin1', start, Math.min(end, start + ROLE_BYTES));
      if (isMessage(prefix)) count++;
      else progress = NoiseHead.of(prefix, 'progress') ?? progress;
    }
    start = end + 1;
  }
  return count;
}

/** The end of a record and the start of the next one. No string holds them: its quotes are escaped. */
const GLUED = ['}{"parentUuid":', '}{"type":"'] as const;

/**
 * Returns a function that finds a text in a buffer, each occurrence once: the first one at `start` or later; infinite when there is none. Later
 * calls have a later `start`.
 */
function finder(buffer: Buffer, text: string): (start: number) => number {
  let next = -1;
  return (start) => {
    if (next >= start) return next;
    const found = buffer.indexOf(text, start);
    next = found < 0 ? Number.POSITIVE_INFINITY : found;
    return next;
  };
}

function isMessage(prefix: string): boolean {
  const type = /^\{"type":"([^"]*)"/.exec(prefix)?.[1];
  if (type !== undefined) return type === 'user' || type === 'assistant';
  return !prefix.includes('"type":"progress"') && /"role":"(?:user|assistant)"/.test(prefix);
}

/** For files up to its size: thousands of small buffers are freed late. */
const shared = Buffer.allocUnsafeSlow(READ);

function withFile<T>(path: string, work: (file: OpenedSample) => T): T {
  const fd = openFileSync(path);
  try {
    const { size, mtime } = fstatSync(fd);
    const isSmall = size <= READ;
    const whole = isSmall ? readBytes(fd, 0, shared.subarray(0, size)) : undefined;
    const read = (from: number, length: number): Buffer =>
      whole ? whole.subarray(from, from + length) : readBytes(fd, from, Buffer.allocUnsafe(length));
    return work({ size, mtime, read });
  } catch (error) {
    throw cannotRead(path, error);
  } finally {
    closeSync(fd);
  }
}

/** Fills a buffer from a position of a file on; returns the part of it that was read. */
function readBytes(fd: number, from: number, buffer: Buffer): Buffer {
  let end = 0;
  while (end < buffer.length) {
    const bytesRead = readSync(fd, buffer, end, Math.min(READ, buffer.length - end), from + end);
    if (bytesRead === 0) break;
    end += bytesRead;
  }
  return buffer.subarray(0, end);
}
