/**
 * Moves along the lines of a Claude Code file of any size, from entry to entry, with a chunk or two of it in memory. Lines of noise
 * are recognised by their first bytes and never decoded.
 */
import type { ClaudeCursor } from '../../transcripts/claude/convert-in-order.ts';
import type { ClaudeEntry } from '../../transcripts/claude/entry.ts';
import { MIN_SKIMMED_LENGTH, parseSkimmed, RESULT_START, skimResult } from '../../transcripts/claude/skim-line.ts';
import type { ClaudeTranscript, OpenedFile } from '../../transcripts/claude/transcript.ts';
import { GLUED, NoiseFilter, PREFIX_LENGTH, TAIL_LENGTH } from '../../transcripts/claude/transcript-line.ts';
import type { Json } from '../../transcripts/json-access.ts';
import type { Chunk, ChunkReader } from '../chunk-reader.ts';
import { NoiseHead } from './noise-head.ts';

const NEWLINE = 10;
/** Longer lines are skipped: no message is that long, and it would not fit into memory. */
const MAX_LINE = 64 * 1024 * 1024;
const BYTE_ORDER_MARK = '\uFEFF';
const RESULT_START_BYTES = Buffer.from(RESULT_START);
const GLUED_BYTES = GLUED.map((text) => Buffer.from(text));
const NOTHING: Chunk = { buffer: Buffer.alloc(0), start: 0, end: 0 };

export class FileCursor implements ClaudeCursor {
  head: ClaudeEntry | undefined;
  readonly #transcript: ClaudeTranscript;
  readonly #file: OpenedFile;
  readonly #chunks: ChunkReader;
  readonly #noise = new NoiseFilter();
  /** The head of the last line of noise: most follow another of the same kind. */
  #lastNoise: NoiseHead | undefined;
  #chunk: Chunk = NOTHING;
  /** Where the next line starts in the chunk. */
  #start = 0;
  /** Up to here that line has no newline, so that a long line is not searched again with every chunk. */
  #searched = 0;
  #isAtEnd = false;
  #isTooLong = false;

  constructor(transcript: ClaudeTranscript, file: OpenedFile, chunks: ChunkReader) {
    this.#transcript = transcript;
    this.#file = file;
    this.#chunks = chunks;
  }

  /** Moves to the next entry; false at the end. Returns a promise only when the chunk is used up. */
  advance(): boolean | Promise<boolean> {
    const rest = this.#file.rest.shift();
    if (rest === undefined) return this.#scan() ?? this.#readOn();
    this.head = rest;
    return true;
  }

  async close(): Promise<void> {
    await this.#chunks.close();
  }

  /** Finds the next entry in the current chunk; `undefined` when the chunk is used up. */
  #scan(): boolean | undefined {
    const { buffer, end } = this.#chunk;
    while (true) {
      const newline = buffer.indexOf(NEWLINE, Math.max(this.#start, this.#searched));
      if (newline < 0 || newline >= end) return this.#isAtEnd ? this.#takeLast() : undefined;
      const start = this.#start;
      this.#start = newline + 1;
      if (this.#take(start, newline, false)) return true;
    }
  }

  async #readOn(): Promise<boolean> {
    while (true) {
      if (this.#chunk.end - this.#start > MAX_LINE) this.#isTooLong = true;
      const rest = this.#isTooLong ? NOTHING : { ...this.#chunk, start: this.#start };
      this.#chunk = await this.#chunks.next(rest);
      this.#start = this.#chunk.start;
      this.#searched = this.#start + rest.end - rest.start;
      this.#isAtEnd = this.#chunk.end - this.#chunk.start === rest.end - rest.start;
      const found = this.#scan();
      if (found !== undefined) return found;
    }
  }

  /** Reads a line; true when it holds an entry. */
  #take(start: number, end: number, isTorn: boolean): boolean {
    if (this.#isTooLong || end - start > MAX_LINE) {
      this.#isTooLong = false;
      this.#transcript.skipTooLong(this.#file);
      return false;
    }
    const { buffer } = this.#chunk;
    if (!isTorn && this.#isNoise(start, end)) return false;
    const line = isTorn || end - start < MIN_SKIMMED_LENGTH ? undefined : this.#skim(start, end);
    if (line !== undefined) {
      this.head = this.#transcript.readSkimmed(this.#file, line);
      return this.head !== undefined;
    }
    const text = buffer.toString('utf8', start, end);
    this.head = this.#transcript.read(this.#file, text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text, isTorn);
    return this.head !== undefined;
  }

  /** Reads a long line without the fields that no conversion uses; `undefined` when the whole line has to be read. */
  #skim(start: number, end: number): Json | undefined {
    const { buffer } = this.#chunk;
    const found = buffer.subarray(start, end).indexOf(RESULT_START_BYTES);
    if (found < 0) return undefined;
    const at = start + found;
    const rest = buffer.toString('latin1', at, end);
    const skimmed = skimResult(rest);
    if (skimmed === undefined) return undefined;
    // In place, so that the line is one piece.
    buffer.write(skimmed, at, 'latin1');
    const line = parseSkimmed(buffer.toString('utf8', start, at + skimmed.length));
    if (line === undefined) buffer.write(rest, at, 'latin1');
    return line;
  }

  /** Skips a line of noise; false for any other. */
  #isNoise(start: number, end: number): boolean {
    const { buffer } = this.#chunk;
    const last = this.#lastNoise;
    if (last?.matches(buffer, start, end)) {
      if (this.#isGlued(start, end)) return false;
      this.#transcript.skip(this.#file, last.kind);
      return true;
    }
    const prefix = buffer.toString('latin1', start, Math.min(end, start + PREFIX_LENGTH));
    const kind = this.#noise.kindOf(prefix);
    if (kind === undefined || this.#isGlued(start, end)) return false;
    if (kind === 'agent') {
      const tail = buffer.toString('latin1', Math.max(start, end - TAIL_LENGTH), end);
      return this.#transcript.skipProgress(this.#file, tail);
    }
    this.#lastNoise = NoiseHead.of(prefix, kind.noise);
    this.#transcript.skip(this.#file, kind.noise);
    return true;
  }

  /** Whether another record follows on a line of noise. */
  #isGlued(start: number, end: number): boolean {
    const line = this.#chunk.buffer.subarray(start + 1, end);
    return GLUED_BYTES.some((glue) => line.includes(glue));
  }

  /** Reads the last line, which has no newline. */
  #takeLast(): boolean {
    const start = this.#start;
    const { end } = this.#chunk;
    this.#start = end;
    if ((start < end || this.#isTooLong) && this.#take(start, end, true)) return true;
    this.head = undefined;
    return false;
  }
}
