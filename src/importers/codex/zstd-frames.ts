/** Whether a Zstandard file is whole. Node 22 unpacks a file that was cut as if it had ended there; newer ones report it. */
import type { FileHandle } from 'node:fs/promises';

const FRAME = 0xfd2fb528;
/** Sixteen magic numbers of frames that hold no content. */
const SKIPPABLE = 0x184d2a50;
/** The longest header of a frame, with its magic number. */
const MAX_HEADER = 18;
const RLE_BLOCK = 1;

/** Follows the sizes of frames and blocks (RFC 8878), and reads no content: true if the file ends where its last frame does. */
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
