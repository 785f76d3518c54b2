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
