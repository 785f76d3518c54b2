/**
 * Reads a file in chunks. Each read is synchronous: it takes a tenth of the time of parsing the chunk, less than a round trip to
 * Node's thread pool. Between two chunks the event loop runs its other work.
 */
import { closeSync, fstatSync, readSync } from 'node:fs';
import { openFile, openFileSync } from './safe-files.ts';

/** Long lines are read in steps of this size. */
const MAX_CHUNK = 16 * 1024 * 1024;

/** A piece of a buffer. */
export interface Chunk {
  readonly buffer: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * Contract: `next` returns `rest`, which is a part of the previous chunk, followed by the next bytes of the file. At the end of the
 * file it returns `rest` alone. It overwrites the previous chunk.
 */
export interface ChunkReader {
  next(rest: Chunk): Promise<Chunk>;
  close(): Promise<void>;
}

/** Keeps the file open: for the one file that is large. */
export async function readOpened(path: string, chunkSize: number): Promise<ChunkReader> {
  const handle = await openFile(path);
  const chunks = new Chunks(chunkSize);
  return {
    async next(rest) {
      await yieldToEventLoop();
      return chunks.read(handle.fd, rest);
    },
    close: () => handle.close(),
  };
}

/** Opens the file for every chunk and closes it again: for files of which hundreds are read at once. */
export function readOnDemand(path: string, chunkSize: number): ChunkReader {
  const chunks = new Chunks(chunkSize);
  return {
    async next(rest) {
      await yieldToEventLoop();
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
    // About as many bytes as are kept, so that a long line is not copied once per chunk.
    const wanted = Math.min(Math.max(this.#size, Math.min(kept, MAX_CHUNK)), left);
    const needed = kept + wanted;
    // After a long line the buffer shrinks again.
    const fits = this.#buffer.length >= needed && this.#buffer.length <= Math.max(4 * needed, this.#size);
    // Room for a long line is taken at once: the system provides only what is used, and outgrown buffers are freed late.
    if (!fits) this.#buffer = Buffer.allocUnsafeSlow(needed > MAX_CHUNK ? 4 * needed : needed);
    const buffer = this.#buffer;
    rest.buffer.copy(buffer, 0, rest.start, rest.end);
    const bytesRead = wanted === 0 ? 0 : readSync(fd, buffer, kept, wanted, this.#offset);
    this.#offset += bytesRead;
    const end = kept + bytesRead;
    return { buffer: buffer.subarray(0, end), start: 0, end };
  }
}

function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
