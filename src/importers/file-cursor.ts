/**
 * Walks the lines of a Claude Code file of any size from one that says something to the next, holding a chunk or two of it. A line
 * of noise is told by its first bytes and never decoded.
 */
import type { ClaudeEntry } from '../transcripts/claude/entry.ts';
import type { ClaudeThread, ClaudeTranscript } from '../transcripts/claude/transcript.ts';
import { NoiseFilter, PREFIX_LENGTH } from '../transcripts/claude/transcript-line.ts';
import type { Chunk, ChunkReader } from './chunk-reader.ts';

const NEWLINE = 10;
/** A longer line is left out: no message is that long, and nobody could hold it. */
const MAX_LINE = 64 * 1024 * 1024;
const BYTE_ORDER_MARK = '\uFEFF';
const NOTHING: Chunk = { buffer: Buffer.alloc(0), start: 0, end: 0 };

export class FileCursor {
  /** The entry to be taken next. */
  head: ClaudeEntry | undefined;
  readonly #transcript: ClaudeTranscript;
  readonly #thread: ClaudeThread;
  readonly #chunks: ChunkReader;
  readonly #noise = new NoiseFilter();
  #chunk: Chunk = NOTHING;
  /** Where in the chunk the next line begins. */
  #start = 0;
  /** How far of that line is known to hold no newline: a long one is not searched again with every chunk. */
  #searched = 0;
  #isAtEnd = false;
  #isTooLong = false;

  constructor(transcript: ClaudeTranscript, thread: ClaudeThread, chunks: ChunkReader) {
    this.#transcript = transcript;
    this.#thread = thread;
    this.#chunks = chunks;
  }

  /** Goes on to the next entry; false at the end. Answers at once while the chunk lasts. */
  advance(): boolean | Promise<boolean> {
    return this.#scan() ?? this.#readOn();
  }

  async close(): Promise<void> {
    await this.#chunks.close();
  }

  /** Looks for the next entry in what has been read; `undefined` when that is used up. */
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

  /** Reads a line; whether it says something. */
  #take(start: number, end: number, isTorn: boolean): boolean {
    if (this.#isTooLong || end - start > MAX_LINE) {
      this.#isTooLong = false;
      this.#transcript.skipTooLong(this.#thread);
      return false;
    }
    const { buffer } = this.#chunk;
    const prefix = isTorn ? '' : buffer.toString('latin1', start, Math.min(end, start + PREFIX_LENGTH));
    const noise = this.#noise.kindOf(prefix);
    if (noise !== undefined) {
      this.#transcript.skip(this.#thread, noise);
      return false;
    }
    const text = buffer.toString('utf8', start, end);
    this.head = this.#transcript.read(this.#thread, text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text, isTorn);
    return this.head !== undefined;
  }

  /** What no newline ended. */
  #takeLast(): boolean {
    const start = this.#start;
    const { end } = this.#chunk;
    this.#start = end;
    if (start < end && this.#take(start, end, true)) return true;
    this.head = undefined;
    return false;
  }
}
