/** Reads rollouts that Codex compressed (`.jsonl.zst`), a chunk at a time. */

import type { FileHandle } from 'node:fs/promises';
import zlib from 'node:zlib';
import { HoldfastError } from '../../core/errors.ts';
import type { Chunk, ChunkReader } from '../chunk-reader.ts';
import { openFile } from '../safe-files.ts';

/**
 * A small file can unpack to any size. JSON lines are compressed ten- to fiftyfold; a file that unpacks to more than this many times its
 * size is no rollout, and is read no further.
 */
const MAX_RATIO = 1000;
const CHUNK = 256 * 1024;
/** What any file may unpack to. */
const MIN_LIMIT = 64 * 1024 * 1024;

/** Whether a path names a compressed rollout. */
export function isCompressed(path: string): boolean {
  return path.endsWith('.zst');
}

/**
 * Unpacks a file while it is read. A file that is damaged, or that unpacks to too much, ends early: `onTorn` is called, and what was
 * unpacked before is returned.
 */
export async function* unpack(path: string, onTorn: () => void): AsyncGenerator<Buffer> {
  if (typeof zlib.createZstdDecompress !== 'function') {
    throw new HoldfastError(
      'RUNTIME_UNSUPPORTED',
      `this runtime cannot unpack ${path}; use Node 22.15 or newer, or unpack it with: zstd -d`,
    );
  }
  const handle = await openFile(path);
  try {
    const { size } = await handle.stat();
    const limit = Math.max(MIN_LIMIT, size * MAX_RATIO);
    const source = handle.createReadStream({ autoClose: false });
    const unpacked = source.pipe(zlib.createZstdDecompress({ chunkSize: CHUNK }));
    source.once('error', (error) => unpacked.destroy(error));
    let total = 0;
    try {
      for await (const chunk of unpacked as AsyncIterable<Buffer>) {
        if (chunk.length === 0) continue; // an empty chunk would look like the end
        total += chunk.length;
        if (total > limit) {
          onTorn();
          return;
        }
        yield chunk;
      }
      if (!(await endsWithItsLastFrame(handle, size))) onTorn();
    } catch {
      onTorn();
    } finally {
      source.destroy();
      unpacked.destroy();
    }
  } finally {
    await handle.close();
  }
}

/** A compressed file as chunks of its content. */
export function readCompressed(path: string, onTorn: () => void): ChunkReader {
  const pieces = unpack(path, onTorn);
  return {
    async next(rest: Chunk) {
      const piece = await pieces.next();
      const kept = rest.buffer.subarray(rest.start, rest.end);
      if (piece.done) return { buffer: kept, start: 0, end: kept.length };
      if (kept.length === 0) return { buffer: piece.value, start: 0, end: piece.value.length };
      // At least as many bytes as are kept, so that a long line is not copied once per piece.
      const more = [kept, piece.value];
      for (let added = piece.value.length; added < kept.length; ) {
        const following = await pieces.next();
        if (following.done) break;
        more.push(following.value);
        added += following.value.length;
      }
      const buffer = Buffer.concat(more);
      return { buffer, start: 0, end: buffer.length };
    },
    close: async () => {
      await pieces.return(undefined);
    },
  };
}

const FRAME = 0xfd2fb528;
/** Sixteen magic numbers of frames that hold no content. */
const SKIPPABLE = 0x184d2a50;
/** The longest header of a frame, with its magic number. */
const MAX_HEADER = 18;
const RLE_BLOCK = 1;

/**
 * Whether a Zstandard file is whole. Follows the sizes of frames and blocks (RFC 8878), and reads no content. Node 22 unpacks a file that was cut
 * as if it had ended there; newer ones report it.
 */
export async function endsWithItsLastFrame(handle: FileHandle, size: number): Promise<boolean> {
  const buffer = Buffer.alloc(MAX_HEADER);
  const read = async (position: number): Promise<Buffer> => {
    const { bytesRead } = await handle.read(buffer, 0, MAX_HEADER, position);
    return buffer.subarray(0, bytesRead);
  };
  let position = 0;
  while (position < size) {
    const header = await read(position);
    if (header.length < 9) return false;
    if ((header.readUInt32LE(0) & 0xfffffff0) >>> 0 === SKIPPABLE) {
      position += 8 + header.readUInt32LE(4);
      continue;
    }
    if (header.readUInt32LE(0) !== FRAME) return false;
    const { length, checksum } = frameHeader(header[4] ?? 0);
    position += length;
    for (let isLast = false; !isLast; ) {
      const block = await read(position);
      if (block.length < 3) return false;
      const bits = block.readUIntLE(0, 3);
      isLast = (bits & 1) === 1;
      position += 3 + (((bits >> 1) & 3) === RLE_BLOCK ? 1 : bits >> 3);
    }
    position += checksum;
  }
  return position === size;
}

function frameHeader(descriptor: number): { readonly length: number; readonly checksum: number } {
  const isSingle = ((descriptor >> 5) & 1) === 1;
  const window = isSingle ? 0 : 1;
  const dictionary = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const contentSize = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  return { length: 5 + window + dictionary + contentSize, checksum: ((descriptor >> 2) & 1) * 4 };
}
