/**
 * Moves along the lines of a Claude Code file of any size, from entry to entry, with a chunk or two of it in memory. Lines of noise
 * are recognised by their first bytes and never decoded.
 */
import type { ClaudeCursor } from '../../transcripts/claude/convert-in-order.ts';
import type { ClaudeEntry } from '../../transcripts/claude/entry.ts';
import { LineReader, type RawLine } from '../../transcripts/claude/line-reader.ts';
import { RESULT_START, skimResult } from '../../transcripts/claude/skim-line.ts';
import type { ClaudeTranscript, OpenedFile } from '../../transcripts/claude/transcript.ts';
import { GLUED } from '../../transcripts/claude/transcript-line.ts';
import type { ChunkReader } from '../chunk-reader.ts';
import { LineScanner, type ScannedLine } from '../line-scanner.ts';
import { NoiseHead } from './noise-head.ts';

const RESULT_START_BYTES = Buffer.from(RESULT_START);
const GLUED_BYTES = GLUED.map((text) => Buffer.from(text));

export class FileCursor implements ClaudeCursor {
  head: ClaudeEntry | undefined;
  readonly #reader: LineReader;
  readonly #scanner: LineScanner;
  readonly #line = new LineOfBytes();

  constructor(transcript: ClaudeTranscript, file: OpenedFile, chunks: ChunkReader) {
    this.#reader = new LineReader(transcript, file);
    this.#scanner = new LineScanner(chunks);
  }

  /** Moves to the next entry; false at the end. Returns a promise only when the chunk is used up. */
  advance(): boolean | Promise<boolean> {
    this.head = this.#reader.takeRest();
    return this.head !== undefined || (this.#scan() ?? this.#readOn());
  }

  async close(): Promise<void> {
    await this.#scanner.close();
  }

  /** Finds the next entry in the current chunk; `undefined` when the chunk is used up. */
  #scan(): boolean | undefined {
    while (true) {
      const line = this.#scanner.next();
      if (line === 'more') return undefined;
      if (line === 'end') return false;
      if (line.isTooLong) this.#reader.skipTooLong();
      else this.head = this.#reader.read(this.#line.at(line));
      if (this.head !== undefined) return true;
    }
  }

  async #readOn(): Promise<boolean> {
    while (true) {
      await this.#scanner.read();
      const found = this.#scan();
      if (found !== undefined) return found;
    }
  }
}

/** The line in a chunk that a scanner has returned last. */
class LineOfBytes implements RawLine {
  length = 0;
  isTorn = false;
  #buffer: Buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  /** The head of the last line of noise: most follow another of the same kind. */
  #noise: NoiseHead | undefined;

  at({ buffer, start, end, isTorn }: ScannedLine): this {
    this.#buffer = buffer;
    this.#start = start;
    this.#end = end;
    this.length = end - start;
    this.isTorn = isTorn;
    return this;
  }

  start(length: number): string {
    return this.#buffer.toString('latin1', this.#start, Math.min(this.#end, this.#start + length));
  }

  end(length: number): string {
    return this.#buffer.toString('latin1', Math.max(this.#start, this.#end - length), this.#end);
  }

  isGlued(): boolean {
    const line = this.#buffer.subarray(this.#start + 1, this.#end);
    return GLUED_BYTES.some((glue) => line.includes(glue));
  }

  knownNoise(): string | undefined {
    return this.#noise?.matches(this.#buffer, this.#start, this.#end) ? this.#noise.kind : undefined;
  }

  noteNoise(prefix: string, kind: string): void {
    this.#noise = NoiseHead.of(prefix, kind);
  }

  skimmed(): string | undefined {
    const found = this.#buffer.subarray(this.#start, this.#end).indexOf(RESULT_START_BYTES);
    if (found < 0) return undefined;
    const at = this.#start + found;
    const rest = this.#buffer.toString('latin1', at, this.#end);
    const skimmed = skimResult(rest);
    if (skimmed === undefined) return undefined;
    // In place, so that the text is one piece.
    this.#buffer.write(skimmed, at, 'latin1');
    const text = this.#buffer.toString('utf8', this.#start, at + skimmed.length);
    this.#buffer.write(rest.slice(0, skimmed.length), at, 'latin1');
    return text;
  }

  text(): string {
    return this.#buffer.toString('utf8', this.#start, this.#end);
  }
}
