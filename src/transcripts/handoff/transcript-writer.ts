import type { LossReport } from '../../formats/losses.ts';
import type { HandedTurn } from './handed-turns.ts';

/** What a writer needs beside the turns. Ids and time arrive as input: a writer is pure. */
export interface WriterContext {
  readonly sessionId: string;
  /** The directory in which the agent continues. */
  readonly cwd: string;
  /** The time of writing, in milliseconds. */
  readonly at: number;
  /** Returns a new UUID each time. */
  readonly newId: () => string;
  /** The model that continues, in the agent's own notation. */
  readonly model: string | undefined;
  readonly losses: LossReport;
}

/**
 * Writes one agent's transcript.
 *
 * Contract: the turns begin with a prompt, every call has its result, and ids and names fit (`handedTurns`). The returned text is what
 * the agent itself would have written for this conversation, as far as it reads it.
 */
export interface TranscriptWriter {
  /** Whether the agent accepts an id as that of a session. */
  readonly accepts: (sessionId: string) => boolean;
  readonly newSessionId: (context: Pick<WriterContext, 'at' | 'newId'>) => string;
  readonly write: (turns: readonly HandedTurn[], context: WriterContext) => string;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether an id is a UUID, written as agents write it. */
export function isUuid(id: string): boolean {
  return UUID.test(id);
}

/** The number of lines that turns become at most, each with a time of its own. */
export function lineCount(turns: readonly HandedTurn[]): number {
  const linesOf = (turn: HandedTurn): number =>
    turn.kind === 'prompt' ? 2 : 2 * turn.texts.length + 2 * turn.calls.length + 2;
  return turns.reduce((count, turn) => count + linesOf(turn), 2);
}

/** Records as lines. U+2028 and U+2029 are escaped: some readers take them for the end of a line. */
export function jsonLines(records: readonly unknown[]): string {
  const line = (record: unknown): string =>
    JSON.stringify(record).replaceAll(/[\u2028\u2029]/g, (end) => (end === '\u2028' ? '\\u2028' : '\\u2029'));
  return records.map((record) => `${line(record)}\n`).join('');
}

/** The newest year that ISO times write with four digits ends later; times before 1970 are not the time of a conversation. */
const EARLIEST = 0;

/**
 * The times of a written transcript's lines: strictly increasing, all before the time of writing. Agents and parsers sort by time, and
 * what the agent adds must come last. The source's own times are used where they fit.
 */
export class Timeline {
  readonly #end: number;
  #left: number;
  #latest = Number.NEGATIVE_INFINITY;

  /** `count`: how often `next` is called at most. `end`: milliseconds, the time of writing. */
  constructor(count: number, end: number) {
    this.#left = count;
    this.#end = end;
  }

  /** The time of the next line, in milliseconds. `at`: the time in the source, if it is known. */
  next(at?: string): number {
    const limit = this.#end - this.#left--;
    const known = at === undefined ? Number.NaN : Date.parse(at);
    const wanted = Number.isNaN(known) ? (this.#latest > EARLIEST ? this.#latest + 1 : limit) : known;
    this.#latest = Math.max(EARLIEST, Math.min(Math.max(wanted, this.#latest + 1), limit));
    return this.#latest;
  }

  /** The same as ISO time. */
  nextText(at?: string): string {
    return new Date(this.next(at)).toISOString();
  }
}
