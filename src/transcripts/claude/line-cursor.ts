/** Decides what to do with each line of a Claude Code file: skip noise, cut what no conversion uses, read the rest. */

import type { ConversationEvent } from '../../conversation/events.ts';
import { OldestFirst } from '../oldest-first.ts';
import type { ClaudeEntry } from './entry.ts';
import { MIN_SKIMMED_LENGTH, parseSkimmed } from './skim-line.ts';
import type { ClaudeTranscript, OpenedFile } from './transcript.ts';
import { NoiseFilter, PREFIX_LENGTH, TAIL_LENGTH } from './transcript-line.ts';

const BYTE_ORDER_MARK = '\uFEFF';

/** A line of a text, or of bytes that are not decoded: then `start` and `end` return one character for each byte. */
export interface RawLine {
  readonly length: number;
  /** The line has no newline. */
  readonly isTorn: boolean;
  /** The first characters. */
  start(length: number): string;
  /** The last characters. */
  end(length: number): string;
  /** Whether one of the texts `GLUED` stands behind the first character. */
  isGlued(): boolean;
  /** The kind of noise that the line is, if that is known from the last line of noise. */
  knownNoise?(): string | undefined;
  /** The line is noise: the next one may be known from it. */
  noteNoise?(prefix: string, kind: string): void;
  /** The line without what `skimResult` cuts out; `undefined` when there is nothing to cut. */
  skimmed(): string | undefined;
  text(): string;
}

/**
 * The lines of a text or of a file.
 *
 * Contract: `next` returns the next line, `'too-long'` for one that was skipped, `'end'` after the last; `'more'` when the caller has to await
 * `read` before it calls `next` again.
 */
export interface RawLines {
  next(): RawLine | 'too-long' | 'more' | 'end';
  read?(): Promise<void>;
}

/** Moves along the lines of one file, from entry to entry. */
export class LineCursor {
  /** The current entry; `undefined` before the first `advance` and after the last. */
  head: ClaudeEntry | undefined;
  readonly #transcript: ClaudeTranscript;
  readonly #file: OpenedFile;
  readonly #lines: RawLines;
  readonly #noise = new NoiseFilter();

  constructor(transcript: ClaudeTranscript, file: OpenedFile, lines: RawLines) {
    this.#transcript = transcript;
    this.#file = file;
    this.#lines = lines;
  }

  /** Moves to the next entry; false at the end. Returns a promise only when it has to read more of its file. */
  advance(): boolean | Promise<boolean> {
    this.head = this.#file.rest.shift(); // of a line that held several
    return this.head !== undefined || (this.#scan() ?? this.#readOn());
  }

  /** Finds the next entry in what was read; `undefined` when that is used up. */
  #scan(): boolean | undefined {
    while (true) {
      const line = this.#lines.next();
      if (line === 'more') return undefined;
      if (line === 'end') return false;
      if (line === 'too-long') this.#transcript.skipTooLong(this.#file);
      else this.head = this.#read(line);
      if (this.head !== undefined) return true;
    }
  }

  async #readOn(): Promise<boolean> {
    while (true) {
      await this.#lines.read?.();
      const found = this.#scan();
      if (found !== undefined) return found;
    }
  }

  /** Returns the entry of a line; `undefined` when it holds none. */
  #read(line: RawLine): ClaudeEntry | undefined {
    if (!line.isTorn && this.#isNoise(line)) return undefined;
    const skimmed = line.isTorn || line.length < MIN_SKIMMED_LENGTH ? undefined : line.skimmed();
    const parsed = skimmed === undefined ? undefined : parseSkimmed(skimmed);
    if (parsed !== undefined) return this.#transcript.readSkimmed(this.#file, parsed);
    const text = line.text();
    return this.#transcript.read(this.#file, text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text, line.isTorn);
  }

  /** Skips a line of noise; false for any other. */
  #isNoise(line: RawLine): boolean {
    const known = line.knownNoise?.();
    const prefix = known === undefined ? line.start(PREFIX_LENGTH) : '';
    const kind = known === undefined ? this.#noise.kindOf(prefix) : { noise: known };
    if (kind === undefined || line.isGlued()) return false;
    if (kind === 'agent') return this.#transcript.skipProgress(this.#file, line.end(TAIL_LENGTH));
    if (known === undefined) line.noteNoise?.(prefix, kind.noise);
    this.#transcript.skip(this.#file, kind.noise);
    return true;
  }
}

/**
 * Merges the files of a session by time and converts their entries to events. The last events close what is still open. The caller awaits each promise that is yielded before it
 * takes the next step; cursors over texts in memory yield none.
 */
export function* convertInOrder(
  transcript: ClaudeTranscript,
  cursors: readonly LineCursor[],
): Generator<readonly ConversationEvent[] | Promise<boolean>> {
  const reading = new OldestFirst<LineCursor>(({ head }) => head?.timestamp);
  for (const [index, cursor] of cursors.entries()) {
    const more = cursor.advance();
    if (typeof more !== 'boolean') yield more;
    if (cursor.head !== undefined) reading.add(cursor, index);
  }
  for (let cursor = reading.oldest; cursor?.head !== undefined; cursor = reading.oldest) {
    const events = transcript.add(cursor.head);
    if (events.length > 0) yield events;
    const more = cursor.advance();
    if (typeof more !== 'boolean') yield more;
    reading.advanced();
  }
  yield transcript.finish();
}
