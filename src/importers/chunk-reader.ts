/** A file in chunks, each with room before it for the end of the one before. */
import type { FileHandle } from 'node:fs/promises';
import { openFile } from './safe-files.ts';

/** How much of an unfinished line fits in front of the next chunk without copying that. */
const HEADROOM = 64 * 1024;

/** A piece of a buffer. */
export interface Chunk {
  readonly buffer: Buffer;
  readonly start: number;
  readonly end: number;
  /** It has a buffer of its own, which nobody else will write to. */
  readonly isOwn?: true;
}

/**
 * Contract: `next` answers `rest` and, behind it, what comes next in the file; nothing is left when it answers `rest` alone. A chunk
 * is overwritten by the one after the next.
 */
export interface ChunkReader {
  next(rest: Chunk): Promise<Chunk>;
  close(): Promise<void>;
}

/** Reads ahead: while a chunk is being worked on, the next one is on its way. For the one file that is large. */
export async function readAhead(path: string, chunkSize: number): Promise<ChunkReader> {
  const handle = await openFile(path);
  const buffers = [Buffer.allocUnsafeSlow(HEADROOM + chunkSize), Buffer.allocUnsafeSlow(HEADROOM + chunkSize)] as const;
  let turn: 0 | 1 = 0;
  let offset = 0;
  const fetch = (): Promise<Chunk> => {
    const buffer = buffers[turn];
    turn = turn === 0 ? 1 : 0;
    const reading = readAt(handle, buffer, offset);
    return reading.then((bytesRead) => {
      offset += bytesRead;
      return { buffer, start: HEADROOM, end: HEADROOM + bytesRead };
    });
  };
  let coming = fetch();
  return {
    async next(rest) {
      const chunk = await coming;
      const joined = join(rest, chunk);
      // The rest is copied by now, so the buffer it was in may be written again.
      if (chunk.end > chunk.start) coming = fetch();
      coming.catch(() => {}); // whoever asks for it hears of it
      return joined;
    },
    async close() {
      await coming.catch(() => {});
      await handle.close();
    },
  };
}

/** Opens the file for every chunk and holds nothing open: for files of which there can be hundreds at once. */
export function readOnDemand(path: string, chunkSize: number): ChunkReader {
  let offset = 0;
  return {
    async next(rest) {
      const handle = await openFile(path);
      try {
        const kept = rest.end - rest.start;
        const left = Math.max(0, (await handle.stat()).size - offset);
        // At least as much as there is already, so that a long line is not copied once per chunk.
        const buffer = Buffer.allocUnsafeSlow(kept + Math.min(Math.max(chunkSize, kept), left));
        rest.buffer.copy(buffer, 0, rest.start, rest.end);
        const { bytesRead } = await handle.read(buffer, kept, buffer.length - kept, offset);
        offset += bytesRead;
        return { buffer, start: 0, end: kept + bytesRead };
      } finally {
        await handle.close();
      }
    },
    close: async () => {},
  };
}

async function readAt(handle: FileHandle, buffer: Buffer, offset: number): Promise<number> {
  const { bytesRead } = await handle.read(buffer, HEADROOM, buffer.length - HEADROOM, offset);
  return bytesRead;
}

/** `rest` and `chunk` in one piece. */
function join(rest: Chunk, chunk: Chunk): Chunk {
  const length = rest.end - rest.start;
  if (length === 0) return chunk;
  if (length <= chunk.start) {
    const start = chunk.start - length;
    rest.buffer.copy(chunk.buffer, start, rest.start, rest.end);
    return { buffer: chunk.buffer, start, end: chunk.end };
  }
  // A line longer than the headroom: grow by doubling, so that a long one is not copied once per chunk.
  const added = chunk.end - chunk.start;
  if (rest.isOwn && rest.buffer.length - rest.end >= added) {
    chunk.buffer.copy(rest.buffer, rest.end, chunk.start, chunk.end);
    return { ...rest, end: rest.end + added };
  }
  const buffer = Buffer.allocUnsafeSlow(2 * (length + added));
  rest.buffer.copy(buffer, 0, rest.start, rest.end);
  chunk.buffer.copy(buffer, length, chunk.start, chunk.end);
  return { buffer, start: 0, end: length + added, isOwn: true };
}
