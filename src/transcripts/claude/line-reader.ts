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

/** Reads the lines of one file, in order. */
export class LineReader {
  readonly #transcript: ClaudeTranscript;
  readonly #file: OpenedFile;
  readonly #noise = new NoiseFilter();

  constructor(transcript: ClaudeTranscript, file: OpenedFile) {
    this.#transcript = transcript;
    this.#file = file;
  }

  /** The next entry of a line that held several, if there is one. */
  takeRest(): ClaudeEntry | undefined {
    return this.#file.rest.shift();
  }

  /** Returns the entry of a line; `undefined` when it holds none. */
  read(line: RawLine): ClaudeEntry | undefined {
    if (!line.isTorn && this.#isNoise(line)) return undefined;
    const skimmed = line.isTorn || line.length < MIN_SKIMMED_LENGTH ? undefined : line.skimmed();
    const parsed = skimmed === undefined ? undefined : parseSkimmed(skimmed);
    if (parsed !== undefined) return this.#transcript.readSkimmed(this.#file, parsed);
    const text = line.text();
    return this.#transcript.read(this.#file, text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text, line.isTorn);
  }

  /** Counts a line that was too long to read. */
  skipTooLong(): void {
    this.#transcript.skipTooLong(this.#file);
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
 * Moves along the lines of one file, from entry to entry.
 *
 * Contract: `head` is the current entry, `undefined` before the first `advance` and after the last. `advance` returns a promise only
 * when it has to read more of its file.
 */
export interface ClaudeCursor {
  readonly head: ClaudeEntry | undefined;
  advance(): boolean | Promise<boolean>;
}

/**
 * Merges the files of a session by time and converts their entries to events. The last events close what is still open. The caller awaits each promise that is yielded before it
 * takes the next step; cursors over texts in memory yield none.
 */
export function* convertInOrder(
  transcript: ClaudeTranscript,
  cursors: readonly ClaudeCursor[],
): Generator<readonly ConversationEvent[] | Promise<boolean>> {
  const reading = new OldestFirst<ClaudeCursor>(({ head }) => head?.timestamp);
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
