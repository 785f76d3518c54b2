import { closeSync, fstatSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * One value in one file, changed by one process at a time. A change is written to a second file, synced and renamed, so that the
 * file is complete at every instant. A lock file, created exclusively, blocks other processes meanwhile.
 */
export class JsonFile<T> {
  readonly #path: string;
  readonly #parse: (text: string | undefined) => T;
  readonly #format: (value: T) => string;
  #cached: { readonly version: string; readonly value: T } | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(path: string, parse: (text: string | undefined) => T, format: (value: T) => string) {
    this.#path = path;
    this.#parse = parse;
    this.#format = format;
  }

  /** The value after the newest change. */
  read(): T {
    const file = openIfThere(this.#path);
    if (file === undefined) return this.#parse(undefined);
    try {
      const { ino, mtimeNs, size } = fstatSync(file, { bigint: true });
      const version = `${ino} ${mtimeNs} ${size}`;
      if (this.#cached?.version !== version) {
        this.#cached = { version, value: this.#parse(readFileSync(file, 'utf8')) };
      }
      return this.#cached.value;
    } finally {
      closeSync(file);
    }
  }

  /** Calls back when any process changed the file. */
  version(): string | undefined {
    this.read();
    return this.#cached?.version;
  }

  /** Runs `work` on the value and makes the change durable. Nothing changes when it throws. */
  change<R>(work: (value: T) => R): Promise<R> {
    const changed = this.#last.then(async () => {
      const unlock = await this.#lock();
      try {
        const value = this.read();
        const result = work(value);
        this.#write(value);
        return result;
      } catch (error) {
        // `work` may have changed half of it.
        this.#cached = undefined;
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

  #write(value: T): void {
    const next = `${this.#path}.next`;
    const file = openSync(next, 'w');
    writeFileSync(file, this.#format(value));
    fsyncSync(file);
    const { ino, mtimeNs, size } = fstatSync(file, { bigint: true });
    closeSync(file);
    renameSync(next, this.#path);
    const directory = openSync(dirname(this.#path), 'r');
    fsyncSync(directory);
    closeSync(directory);
    this.#cached = { version: `${ino} ${mtimeNs} ${size}`, value };
  }

  async #lock(): Promise<() => void> {
    const path = `${this.#path}.lock`;
    for (;;) {
      try {
        writeFileSync(path, String(process.pid), { flag: 'wx' });
        return () => rmSync(path, { force: true });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
