import type { Stats } from 'node:fs';
import { resolve } from 'node:path';
import { HoldfastError } from '../../../core/errors.ts';
import { lateModule } from '../../late-module.ts';
import type { Database, ValueStatement } from '../driver.ts';
import { LAYOUT_VERSION } from './migrate.ts';
import { GuardError, type TransactionGuard } from './write-queue.ts';

const PERHAPS_NONE = { throwIfNoEntry: false } as const;

/**
 * Notices what happens to the file behind an open connection: a newer Holdfast that changed its layout, and a file that was
 * removed, renamed or replaced. SQLite itself notices neither, and would acknowledge appends that no other process ever sees.
 *
 * Both are looked at before anything is written. A file that is removed during the commit itself takes with it all that was ever
 * acknowledged; the next transaction notices. Looking after the commit would cost four times as much: the processor has just slept.
 */
export class FileGuard implements TransactionGuard {
  readonly #path: string;
  readonly #statSync: typeof import('node:fs').statSync = lateModule('node:fs').statSync;
  readonly #file: Pick<Stats, 'dev' | 'ino'> | undefined;
  readonly #layout: ValueStatement<[], number>;
  /** Changes when another connection has committed. */
  readonly #dataVersion: ValueStatement<[], number>;
  #seenVersion: number | undefined;

  constructor(database: Database, path: string) {
    this.#path = resolve(path);
    this.#file = this.#statSync(this.#path, PERHAPS_NONE);
    this.#layout = database.prepareValue('PRAGMA user_version');
    this.#dataVersion = database.prepareValue('PRAGMA data_version');
  }

  begun(): boolean {
    const version = this.#dataVersion.get();
    const othersWrote = version !== this.#seenVersion;
    if (othersWrote) {
      const layout = this.#layout.get();
      if (layout !== LAYOUT_VERSION) throw this.#tooNew(layout);
    }
    if (this.#isReplaced()) throw new GuardError(this.#replaced());
    this.#seenVersion = version;
    return othersWrote;
  }

  /** Throws `STORE_REPLACED` when the path leads to another file than the one that is open. */
  refuseReplaced(): void {
    if (this.#isReplaced()) throw this.#replaced();
  }

  #isReplaced(): boolean {
    const now = this.#statSync(this.#path, PERHAPS_NONE);
    return now?.ino !== this.#file?.ino || now?.dev !== this.#file?.dev;
  }

  #tooNew(layout: number | undefined): GuardError {
    return new GuardError(
      new HoldfastError(
        'STORE_TOO_NEW',
        `${this.#path} was changed to layout ${layout} while it was open and this Holdfast knows ${LAYOUT_VERSION}; update Holdfast and open it again`,
      ),
    );
  }

  #replaced(): HoldfastError {
    return new HoldfastError(
      'STORE_REPLACED',
      `${this.#path} was removed or replaced while it was open: what is written to it is lost; put the file back, or open it again`,
    );
  }
}
