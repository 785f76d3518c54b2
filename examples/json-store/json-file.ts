import { closeSync, fstatSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { HoldfastError, storeFailure } from 'holdfast/store';
import { lockFile } from './file-lock.ts';

/** How a value is written as text, and read again. */
export interface JsonFormat<T> {
  /** The value of a text; without one: of a file that does not exist yet. */
  parse(text?: string): T;
  format(value: T): string;
}

/**
 * One value in one file, changed by one process at a time. A change is written to a second file, synced and renamed, so that the
 * file is complete at every instant. Every error is a `HoldfastError`.
 */
export class JsonFile<T> {
  readonly #path: string;
  readonly #format: JsonFormat<T>;
  readonly #pass: (point: string) => void;
  #cached: { readonly version: string; readonly value: T } | undefined;
  #existed = false;
  #last: Promise<unknown> = Promise.resolve();

  /** `pass` is called between two writes: a test can kill the process there. */
  constructor(path: string, format: JsonFormat<T>, pass: (point: string) => void) {
    this.#path = path;
    this.#format = format;
    this.#pass = pass;
  }

  /** The value after the newest change, of any process. */
  read(): T {
    return this.#guarded(() => {
      const version = this.#version();
      if (version === undefined) return this.#format.parse();
      if (this.#cached?.version !== version) this.#cached = this.#load();
      return this.#cached.value;
    });
  }

  /** A text that differs after every change of the file, by any process; undefined while there is no file. */
  version(): string | undefined {
    return this.#guarded(() => this.#version());
  }

  /** Runs `work` on the value and makes the change durable. Nothing changes when it throws. */
  change<R>(work: (value: T) => R): Promise<R> {
    const changed = this.#last.then(async () => {
      const unlock = await this.#lock();
      try {
        return this.#guarded(() => {
          const value = this.read();
          const result = work(value);
          this.#write(value);
          return result;
        });
      } catch (error) {
        this.#cached = undefined; // `work` may have changed half of it
        throw error;
      } finally {
        unlock();
      }
    });
    this.#last = changed.catch(() => {});
    return changed;
  }

  /** Resolves when no change is running. */
  async idle(): Promise<void> {
    await this.#last;
  }

  async #lock(): Promise<() => void> {
    try {
      return await lockFile(`${this.#path}.lock`);
    } catch (error) {
      throw storeFailure(error, this.#path);
    }
  }

  #write(value: T): void {
    const next = `${this.#path}.next`;
    const file = openSync(next, 'w');
    writeFileSync(file, this.#format.format(value));
    fsyncSync(file);
    const version = versionOf(fstatSync(file, { bigint: true }));
    closeSync(file);
    this.#pass('between write and rename');
    renameSync(next, this.#path);
    this.#pass('between rename and sync');
    const directory = openSync(dirname(this.#path), 'r');
    fsyncSync(directory);
    closeSync(directory);
    this.#existed = true;
    this.#cached = { version, value };
  }

  #load(): { readonly version: string; readonly value: T } {
    const file = openSync(this.#path, 'r');
    try {
      // Of the file that is open: another process may have replaced it since.
      const version = versionOf(fstatSync(file, { bigint: true }));
      return { version, value: this.#parse(readFileSync(file, 'utf8')) };
    } finally {
      closeSync(file);
    }
  }

  #parse(text: string): T {
    try {
      return this.#format.parse(text);
    } catch (cause) {
      throw new HoldfastError('STORE_CORRUPT', `${this.#path} is damaged; restore a backup`, { cause });
    }
  }

  #version(): string | undefined {
    const stats = statSync(this.#path, { bigint: true, throwIfNoEntry: false });
    if (stats) this.#existed = true;
    else if (this.#existed)
      throw new HoldfastError('STORE_REPLACED', `${this.#path} was removed; open the store again`);
    return stats && versionOf(stats);
  }

  #guarded<R>(work: () => R): R {
    try {
      return work();
    } catch (error) {
      throw storeFailure(error, this.#path);
    }
  }
}

function versionOf({
  ino,
  mtimeNs,
  size,
}: {
  readonly ino: bigint;
  readonly mtimeNs: bigint;
  readonly size: bigint;
}): string {
  return `${ino} ${mtimeNs} ${size}`;
}
