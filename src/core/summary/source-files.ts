import type { SourceFileSummary } from './source-summary.ts';

type Files = Readonly<Record<string, SourceFileSummary>>;

/** At least this many changes are collected before they are copied into a record. */
const MIN_COLLECTED = 256;

/**
 * The files of a summary: a record, or one change of the files before it. The record is made when it is read: a session may have thousands of
 * files, and most summaries are folded further without being read.
 */
export class SourceFiles {
  #record: Files | undefined;
  #before: SourceFiles | undefined;
  #change: readonly [file: string, state: SourceFileSummary] | undefined;
  /** The number of changes since the last record, and the number of files in that. */
  #collected = 0;
  #size = 0;

  constructor(record?: Files) {
    this.#record = record;
  }

  /** The files after a change of one of them. */
  with(file: string, state: SourceFileSummary): SourceFiles {
    const next = new SourceFiles();
    next.#before = this;
    next.#change = [file, state];
    next.#collected = this.#collected + 1;
    next.#size = this.#record ? Object.keys(this.#record).length : this.#size;
    if (next.#collected > Math.max(MIN_COLLECTED, next.#size)) next.toRecord(); // bounds the memory
    return next;
  }

  toRecord(): Files {
    if (this.#record) return this.#record;
    const changes: (readonly [file: string, state: SourceFileSummary])[] = [];
    let from: SourceFiles | undefined = this;
    for (; from && !from.#record; from = from.#before) if (from.#change) changes.push(from.#change);
    const files = new Map(from ? Object.entries(from.#record ?? {}) : []);
    for (const [file, state] of changes.reverse()) files.set(file, state);
    this.#record = Object.fromEntries(files);
    this.#before = undefined;
    this.#change = undefined;
    this.#collected = 0;
    return this.#record;
  }
}
