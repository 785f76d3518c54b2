/** What the parts of an import share: the store, the limits, and the report. */
import { messageOf } from '../../core/errors.ts';
import type { Store } from '../../ports/store.ts';
import { StaleLog } from './record-appender.ts';

/** Why a file or a session was not imported. */
export type ImportProblemCode = 'unreadable' | 'symbolic-link' | 'too-large' | 'id-taken' | 'not-a-source' | 'failed';

/** A file or a session that was skipped. The others were imported. */
export interface ImportProblem {
  readonly code: ImportProblemCode;
  readonly path: string;
  readonly message: string;
}

/** How far an import is. */
export interface ImportProgress {
  /** Files and databases that were looked at. */
  readonly files: number;
  /** Bytes that were recorded. */
  readonly bytes: number;
  /** Sessions that are new or have new records. */
  readonly sessions: number;
  readonly problems: readonly ImportProblem[];
  /** The file or database that is being imported. */
  readonly path?: string;
}

/** The result of an import. */
export interface ImportResult extends ImportProgress {
  /** Sessions that had no new records. */
  readonly unchanged: number;
  /** Sessions that were deleted from the store and therefore not imported again. */
  readonly deleted: number;
  /** Whether the signal ended the import before it had looked at everything. */
  readonly aborted: boolean;
}

export interface ImportContextOptions {
  readonly store: Store;
  readonly redact?: ((record: string) => string) | undefined;
  readonly maxFileBytes: number;
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What became of a session. */
export type Outcome = 'changed' | 'unchanged' | 'deleted';

/** Ends an import at the next batch. */
export class ImportAborted extends Error {}

export class ImportContext {
  readonly options: ImportContextOptions;
  readonly #problems = new Map<string, ImportProblem>();
  #problemList: readonly ImportProblem[] = [];
  #files = 0;
  #bytes = 0;
  #path: string | undefined;
  readonly #outcomes: Record<Outcome, number> = { changed: 0, unchanged: 0, deleted: 0 };

  constructor(options: ImportContextOptions) {
    this.options = options;
  }

  get isAborted(): boolean {
    return this.options.signal?.aborted === true;
  }

  /** Throws `ImportAborted` when the caller has ended the import. */
  check(): void {
    if (this.isAborted) throw new ImportAborted();
  }

  opened(path: string): void {
    this.#files++;
    this.#path = path;
  }

  recorded(bytes: number): void {
    this.#bytes += bytes;
    this.#report();
  }

  /** Reports a problem, an error or its text, once, however often the file is looked at. A file that was deleted meanwhile is none. */
  problem(code: ImportProblemCode, path: string, error: unknown): void {
    const key = `${code} ${path}`;
    if (this.#problems.has(key) || isGone(path, error)) return;
    this.#problems.set(key, { code, path, message: messageOf(error) });
    this.#problemList = [...this.#problems.values()];
    this.#report();
  }

  /** Whether a problem with a file was reported. */
  hasProblem(path: string): boolean {
    return this.#problemList.some((problem) => problem.path === path);
  }

  ended(outcome: Outcome): void {
    this.#outcomes[outcome]++;
    if (outcome === 'changed') this.#report();
  }

  /** Runs `work` again for as long as other importers append to the same session first. */
  async untilFresh<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      this.check();
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof StaleLog)) throw error;
      }
    }
  }

  result(): ImportResult {
    const { unchanged, deleted } = this.#outcomes;
    return { ...this.#progress(), unchanged, deleted, aborted: this.isAborted };
  }

  #progress(): ImportProgress {
    return {
      files: this.#files,
      bytes: this.#bytes,
      sessions: this.#outcomes.changed,
      problems: this.#problemList,
      ...(this.#path !== undefined && { path: this.#path }),
    };
  }

  #report(): void {
    this.options.onProgress?.(this.#progress());
  }
}

/** Whether a file is no longer there. A name that is not UTF-8 cannot be opened either, and that is a problem. */
function isGone(path: string, error: unknown): boolean {
  if (!(error instanceof Error) || path.includes('\uFFFD')) return false;
  return ('code' in error && error.code === 'ENOENT') || isGone(path, error.cause);
}
