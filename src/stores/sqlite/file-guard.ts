import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import type { Database, ValueStatement } from './driver.ts';
import { LAYOUT_VERSION } from './migrate.ts';
import { GuardError, type TransactionGuard } from './write-queue.ts';

/**
 * Notices what happens to the file behind an open connection: a newer Holdfast that changed its layout, and a file that was
 * removed, renamed or replaced. SQLite itself notices neither, and would acknowledge appends that no other process ever sees.
 */
export class FileGuard implements TransactionGuard {
  readonly #path: string;
  readonly #file: string | undefined;
  readonly #layout: ValueStatement<[], number>;

  constructor(database: Database, path: string) {
    this.#path = resolve(path);
    this.#file = this.#identity();
    this.#layout = database.prepareValue('PRAGMA user_version');
  }

  begun(): void {
    const layout = this.#layout.get();
    if (layout === LAYOUT_VERSION) return;
    throw new GuardError(
      new HoldfastError(
        'STORE_TOO_NEW',
        `${this.#path} was changed to layout ${layout} while it was open and this Holdfast knows ${LAYOUT_VERSION}; update Holdfast and open it again`,
      ),
    );
  }

  committed(): void {
    if (this.#identity() === this.#file) return;
    throw new GuardError(
      new HoldfastError(
        'STORE_REPLACED',
        `${this.#path} was removed or replaced while it was open: what is written to it is lost; put the file back, or open it again`,
      ),
    );
  }

  /** The file that the path leads to. */
  #identity(): string | undefined {
    const stat = statSync(this.#path, { throwIfNoEntry: false });
    return stat && `${stat.dev}:${stat.ino}`;
  }
}
