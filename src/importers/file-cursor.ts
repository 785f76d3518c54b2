/**
 * Walks the lines of a Claude Code file of any size from one that says something to the next, holding one chunk of it. A line of
 * noise is told by its first bytes and never decoded.
 */
import type { ClaudeEntry } from '../transcripts/claude/entry.ts';
import type { ClaudeThread, ClaudeTranscript } from '../transcripts/claude/transcript.ts';
import { noiseKind, PREFIX_LENGTH } from '../transcripts/claude/transcript-line.ts';
import { openFile } from './safe-files.ts';

const NEWLINE = 10;
const FIRST_CHUNK = 64 * 1024;
const CHUNK = 256 * 1024;
/** A longer line is left out: no message is that long, and nobody could hold it. */
const MAX_LINE = 64 * 1024 * 1024;
const BYTE_ORDER_MARK = '\uFEFF';

export class FileCursor {
  /** The entry to be taken next. */
  head: ClaudeEntry | undefined;
  readonly #transcript: ClaudeTranscript;
  readonly #thread: ClaudeThread;
  readonly #path: string;
  #buffer: Buffer = Buffer.alloc(0);
  /** What of the buffer is still to be read. */
  #start = 0;
  #end = 0;
  /** Where in the file the buffer ends. */
  #offset = 0;
  #isAtEnd = false;
  #isTooLong = false;

  constructor(transcript: ClaudeTranscript, thread: ClaudeThread, path: string) {
    this.#transcript = transcript;
    this.#thread = thread;
    this.#path = path;
  }

  /** Goes on to the next entry; false at the end. Answers at once while the chunk lasts. */
  advance(): boolean | Promise<boolean> {
    while (true) {
      const newline = this.#buffer.indexOf(NEWLINE, this.#start);
      if (newline < 0 || newline >= this.#end) return this.#isAtEnd ? this.#finish() : this.#refill();
      const start = this.#start;
      this.#start = newline + 1;
      if (this.#take(start, newline, false)) return true;
    }
  }

  /** Reads a line; whether it says something. */
  #take(start: number, end: number, isTorn: boolean): boolean {
    if (this.#isTooLong) {
      this.#isTooLong = false;
      this.#transcript.skipTooLong(this.#thread);
      return false;
    }
    const noise = isTorn
      ? undefined
      : noiseKind(this.#buffer.toString('latin1', start, Math.min(end, start + PREFIX_LENGTH)));
    if (noise !== undefined) {
      this.#transcript.skip(this.#thread, noise);
      return false;
    }
    const text = this.#buffer.toString('utf8', start, end);
    this.head = this.#transcript.read(this.#thread, text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text, isTorn);
    return this.head !== undefined;
  }

  #finish(): boolean {
    const start = this.#start;
    this.#start = this.#end;
    if (start < this.#end && this.#take(start, this.#end, true)) return true;
    this.head = undefined;
    return false;
  }

  /** Reads the next chunk behind what is left of this one. The file is open only meanwhile: a session can have many. */
  async #refill(): Promise<boolean> {
    const rest = this.#end - this.#start;
    if (rest > MAX_LINE) this.#isTooLong = true;
    const kept = this.#isTooLong ? 0 : rest;
    const wanted = this.#offset === 0 ? FIRST_CHUNK : Math.max(CHUNK, kept);
    const buffer = kept + wanted > this.#buffer.length ? Buffer.allocUnsafe(kept + wanted) : this.#buffer;
    this.#buffer.copy(buffer, 0, this.#end - kept, this.#end);
    const handle = await openFile(this.#path);
    try {
      const { bytesRead } = await handle.read(buffer, kept, buffer.length - kept, this.#offset);
      this.#isAtEnd = bytesRead === 0;
      this.#offset += bytesRead;
      this.#buffer = buffer;
      this.#start = 0;
      this.#end = kept + bytesRead;
    } finally {
      await handle.close();
    }
    return await this.advance();
  }
}
