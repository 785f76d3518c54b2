/** The report on a transcript that was read: counts, unknown types, problems (D49). */
import { isKeepable, keep } from './json-access.ts';

/** The problems that a transcript can have. None of them stops the reading. */
export type ProblemCode =
  | 'malformed-line'
  | 'torn-line'
  | 'nul-bytes'
  | 'glued-line'
  | 'line-too-long'
  | 'repeated-line'
  | 'superseded-line'
  | 'rewind'
  | 'too-deep'
  | 'unlinked-subagent'
  | 'missing-history'
  | 'history-cycle'
  | 'unknown-layout'
  | 'torn-compression'
  | 'unreadable-file'
  | 'not-a-transcript';

/** One kind of problem: how often it occurred, and where first. */
export interface TranscriptProblem {
  readonly code: ProblemCode;
  readonly count: number;
  /** The first few places: `<file>:<line>`, or the id of a message. */
  readonly where: readonly string[];
}

/** The report on one reading. */
export interface TranscriptDiagnostics {
  /** Lines, messages and parts read, by type: `assistant`, `progress/hook_progress`, `part/text`, … */
  readonly counts: Readonly<Record<string, number>>;
  /** The unknown types among them. Their content is kept in blocks of type `unknown`. */
  readonly unknown: Readonly<Record<string, number>>;
  readonly problems: readonly TranscriptProblem[];
}

/** The report on a value that no transcript can be read from. */
export const NOT_A_TRANSCRIPT: TranscriptDiagnostics = {
  ...{ counts: {}, unknown: {} },
  problems: [{ code: 'not-a-transcript', count: 1, where: [] }],
};

const MAX_PLACES = 5;
/** A hostile file may have a new type on every line; the types beyond this number are counted together. */
const MAX_TYPES = 500;
const MAX_TYPE_LENGTH = 80;
const OTHER_TYPES = '(others)';

/** Collects the report while a transcript or a stream is read. */
export class DiagnosticsCollector {
  readonly #counts = new Map<string, number>();
  readonly #unknown = new Map<string, number>();
  readonly #problems = new Map<ProblemCode, { count: number; where: string[] }>();

  count(type: string): void {
    increment(this.#counts, type);
  }

  unknown(type: string): void {
    increment(this.#unknown, type);
  }

  problem(code: ProblemCode, where?: string): void {
    const known = this.#problems.get(code) ?? { count: 0, where: [] };
    known.count++;
    if (where !== undefined && known.where.length < MAX_PLACES) known.where.push(where);
    this.#problems.set(code, known);
  }

  /** The value, or a text in its place when it is nested too deeply, which is a problem. */
  kept(value: unknown, where: string): unknown {
    if (!isKeepable(value)) this.problem('too-deep', where);
    return keep(value);
  }

  report(): TranscriptDiagnostics {
    return {
      counts: Object.fromEntries(this.#counts),
      unknown: Object.fromEntries(this.#unknown),
      problems: [...this.#problems].map(([code, { count, where }]) => ({ code, count, where: [...where] })),
    };
  }
}

function increment(counts: Map<string, number>, type: string): void {
  let key = type.length > MAX_TYPE_LENGTH ? `${type.slice(0, MAX_TYPE_LENGTH)}…` : type;
  let before = counts.get(key);
  if (before === undefined && counts.size >= MAX_TYPES) {
    key = OTHER_TYPES;
    before = counts.get(key);
  }
  counts.set(key, (before ?? 0) + 1);
}
