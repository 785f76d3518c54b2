/**
 * A file in chunks. Each is read at once, in the thread that will work on it: that takes a tenth of the time of parsing it, less than
 * handing the work to another thread and waiting for the answer. Between two chunks everyone else in the process has his turn.
 */
import { closeSync, fstatSync, readSync } from 'node:fs';
import { openFile, openFileSync } from './safe-files.ts';

/** A piece of a buffer. */
export interface Chunk {
  readonly buffer: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * Contract: `next` answers `rest`, which is a part of the chunk before, and behind it what comes next in the file; nothing is left when
 * it answers `rest` alone. The chunk before is overwritten.
 */
export interface ChunkReader {
  next(rest: Chunk): Promise<Chunk>;
  close(): Promise<void>;
}

/** Holds the file open: for the one file that is large. */
export async function readOpened(path: string, chunkSize: number): Promise<ChunkReader> {
  const handle = await openFile(path);
  const chunks = new Chunks(chunkSize);
  return {
    async next(rest) {
      await othersFirst();
      return chunks.read(handle.fd, rest);
    },
    close: () => handle.close(),
  };
}

/** Opens the file for every chunk and holds nothing open: for files of which there can be hundreds at once. */
export function readOnDemand(path: string, chunkSize: number): ChunkReader {
  const chunks = new Chunks(chunkSize);
  return {
    async next(rest) {
      await othersFirst();
      const fd = openFileSync(path);
      try {
        return chunks.read(fd, rest);
      } finally {
        closeSync(fd);
      }
    },
    close: async () => {},
  };
}

class Chunks {
  readonly #size: number;
  #buffer = Buffer.alloc(0);
  #offset = 0;

  constructor(size: number) {
    this.#size = size;
  }

  read(fd: number, rest: Chunk): Chunk {
    const kept = rest.end - rest.start;
    const left = Math.max(0, fstatSync(fd).size - this.#offset);
    // At least as much as there is already, so that a long line is not copied once per chunk.
    const wanted = Math.min(Math.max(this.#size, kept), left);
    if (this.#buffer.length < kept + wanted) this.#buffer = Buffer.allocUnsafeSlow(kept + wanted);
    const buffer = this.#buffer;
    rest.buffer.copy(buffer, 0, rest.start, rest.end);
    const bytesRead = wanted === 0 ? 0 : readSync(fd, buffer, kept, wanted, this.#offset);
    this.#offset += bytesRead;
    return { buffer, start: 0, end: kept + bytesRead };
  }
}

function othersFirst(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
