/**
 * The lines of a Claude Code file of any size, as bytes. Lines of noise are recognised by their first bytes and never decoded.
 */
import type { RawLine, RawLines } from '../../transcripts/claude/line-cursor.ts';
import { RESULT_START, skimResult } from '../../transcripts/claude/skim-line.ts';
import { GLUED } from '../../transcripts/claude/transcript-line.ts';
import type { ChunkReader } from '../chunk-reader.ts';
import { LineScanner, type ScannedLine } from '../line-scanner.ts';

const FIRST_KEY = '{"parentUuid":"';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * The bytes of a line of noise from the end of its first value, the id of another line, up to its kind. A line with the same bytes there is
 * noise of the same kind, whatever that id is: comparing them is faster than decoding the line.
 */
export class NoiseHead {
  readonly kind: string;
  readonly #rest: Buffer;

  private constructor(kind: string, rest: Buffer) {
    this.kind = kind;
    this.#rest = rest;
  }

  /** The head of a line, given its first characters, one for each byte; `undefined` when the line starts with another key. */
  static of(prefix: string, kind: string): NoiseHead | undefined {
    const end = prefix.startsWith(FIRST_KEY) ? prefix.indexOf('"', FIRST_KEY.length) : -1;
    const type = prefix.indexOf(`"type":"${kind}"`, end);
    if (end < 0 || type < 0) return undefined;
    return new NoiseHead(kind, Buffer.from(prefix.slice(end, type + kind.length + 9), 'latin1'));
  }

  /** Whether the line between two positions has the same head. Compares the few bytes of its start here: a call takes longer. */
  matches(buffer: Buffer, start: number, end: number): boolean {
    const value = start + FIRST_KEY.length;
    if (value + this.#rest.length > end) return false;
    for (let i = 0; i < FIRST_KEY.length; i++) if (buffer[start + i] !== FIRST_KEY.charCodeAt(i)) return false;
    let quote = value;
    while (quote < end && buffer[quote] !== QUOTE) quote++;
    const rest = quote + this.#rest.length;
    if (rest > end || buffer[quote - 1] === BACKSLASH) return false;
    return buffer.compare(this.#rest, 0, this.#rest.length, quote, rest) === 0;
  }
}

const RESULT_START_BYTES = Buffer.from(RESULT_START);
const GLUED_BYTES = GLUED.map((text) => Buffer.from(text));

/** The lines of a file, with a chunk or two of it in memory. */
export class FileLines implements RawLines {
  readonly #scanner: LineScanner;
  readonly #line = new LineOfBytes();

  constructor(chunks: ChunkReader) {
    this.#scanner = new LineScanner(chunks);
  }

  next(): ReturnType<RawLines['next']> {
    const line = this.#scanner.next();
    if (typeof line === 'string') return line;
    return line.isTooLong ? 'too-long' : this.#line.at(line);
  }

  read(): Promise<void> {
    return this.#scanner.read();
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
