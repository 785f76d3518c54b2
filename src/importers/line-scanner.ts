/** Splits what a `ChunkReader` returns into lines, with a chunk or two in memory. Lines end at `\n` and at nothing else. */
import type { Chunk, ChunkReader } from './chunk-reader.ts';

const NEWLINE = 10;
/** Longer lines are skipped: no message is that long, and it would not fit into memory. */
const MAX_LINE = 64 * 1024 * 1024;
const NOTHING: Chunk = { buffer: Buffer.alloc(0), start: 0, end: 0 };

/** A line's bytes in the current chunk. They are valid until the next line is read. */
export interface ScannedLine extends Chunk {
  /** The last line of a file, when it has no newline. */
  readonly isTorn: boolean;
  /** The line is over the limit and was skipped: it has no bytes. */
  readonly isTooLong: boolean;
}

/**
 * Contract: `next` returns the next line; `'end'` after the last one; `'more'` when the chunk is used up, and then the caller awaits `read`
 * before it calls `next` again.
 */
export class LineScanner {
  readonly #chunks: ChunkReader;
  #chunk: Chunk = NOTHING;
  /** Where the next line starts in the chunk. */
  #start = 0;
  /** Up to here that line has no newline, so that a long line is not searched again with every chunk. */
  #searched = 0;
  #isAtEnd = false;
  #isTooLong = false;

  constructor(chunks: ChunkReader) {
    this.#chunks = chunks;
  }

  next(): ScannedLine | 'more' | 'end' {
    const { buffer, end } = this.#chunk;
    const newline = buffer.indexOf(NEWLINE, Math.max(this.#start, this.#searched));
    const isFound = newline >= 0 && newline < end;
    if (!isFound && !this.#isAtEnd) return 'more';
    if (!isFound && this.#start >= end && !this.#isTooLong) return 'end';
    const start = this.#start;
    const lineEnd = isFound ? newline : end;
    this.#start = isFound ? newline + 1 : end;
    const isTooLong = this.#isTooLong || lineEnd - start > MAX_LINE;
    this.#isTooLong = false;
    return { buffer, start, end: isTooLong ? start : lineEnd, isTorn: !isFound, isTooLong };
  }

  /** Reads the next chunk of the file. */
  async read(): Promise<void> {
    if (this.#chunk.end - this.#start > MAX_LINE) this.#isTooLong = true;
    const rest = this.#isTooLong ? NOTHING : { ...this.#chunk, start: this.#start };
    const kept = rest.end - rest.start;
    this.#chunk = await this.#chunks.next(rest);
    this.#start = this.#chunk.start;
    this.#searched = this.#start + kept;
    this.#isAtEnd = this.#chunk.end - this.#chunk.start === kept;
  }

  close(): Promise<void> {
    return this.#chunks.close();
  }
}
