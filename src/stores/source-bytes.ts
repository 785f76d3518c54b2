/**
 * The bytes of an imported session's records as text (D75): UTF-8 where that is exact and short, base64 of the compressed bytes otherwise.
 * It is beside the stores because their search reads the records.
 */
import type { ZstdOptions } from 'node:zlib';
import { HoldfastError } from '../core/errors.ts';
import type { SourceEncoding, SourceRecordedFields } from '../core/log/source-events.ts';
import { lateModule } from './late-module.ts';

/** Shorter batches are stored as they are: an agent that is being followed appends single lines. */
const MIN_COMPRESSED = 2048;

/** Bytes as text. */
export interface EncodedBytes {
  readonly encoding: SourceEncoding;
  readonly data: string;
}

/** Encodes bytes, compressed unless they are few. */
export function encodeBytes(bytes: Buffer): EncodedBytes {
  if (bytes.length < MIN_COMPRESSED) return encodeFew(bytes);
  const { zstdCompressSync, deflateRawSync } = lateModule('node:zlib');
  return typeof zstdCompressSync === 'function'
    ? { encoding: 'zstd', data: zstdCompressSync(bytes, fastZstd(bytes.length)).toString('base64') }
    : { encoding: 'deflate', data: deflateRawSync(bytes, { level: 1 }).toString('base64') };
}

function encodeFew(bytes: Buffer): EncodedBytes {
  return lateModule('node:buffer').isUtf8(bytes)
    ? { encoding: 'utf8', data: bytes.toString('utf8') }
    : { encoding: 'base64', data: bytes.toString('base64') };
}

/** Compressed batches are rarely longer: then they are written in one piece. */
const CHUNK = 64 * 1024;

/** Node has Zstandard since 22.15; a memory store also runs on older versions. Zstandard is faster when it knows the size beforehand. */
function fastZstd(bytes: number): ZstdOptions {
  const params = { [lateModule('node:zlib').constants.ZSTD_c_compressionLevel ?? 100]: 1 };
  return { params, chunkSize: CHUNK, pledgedSrcSize: bytes };
}

/** Decodes bytes that `encodeBytes` encoded. Throws when the text is damaged, or longer than `maxLength` bytes. */
export function decodeBytes({ encoding, data }: EncodedBytes, maxLength: number): Buffer {
  const options = { maxOutputLength: Math.max(1, maxLength) };
  switch (encoding) {
    case 'utf8':
      return Buffer.from(data, 'utf8');
    case 'base64':
      return Buffer.from(data, 'base64');
    case 'deflate':
      return lateModule('node:zlib').inflateRawSync(Buffer.from(data, 'base64'), options);
    case 'zstd':
      if (typeof lateModule('node:zlib').zstdDecompressSync === 'function') {
        return lateModule('node:zlib').zstdDecompressSync(Buffer.from(data, 'base64'), options);
      }
      throw new HoldfastError(
        'RUNTIME_UNSUPPORTED',
        'these records are compressed with Zstandard, which this version of Node lacks; use Node 22.15 or newer',
      );
  }
}

/** A batch may grow when it is redacted; no redaction makes it this much longer. */
const MAX_GROWTH = 16 * 1024 * 1024;

/** The bytes of a batch. `contentOf` reads an external content; `undefined` when that is missing. */
export function recordedBytes(
  event: SourceRecordedFields,
  contentOf: (name: string) => string | undefined,
): Buffer | undefined {
  const data = event.content === undefined ? (event.data ?? '') : contentOf(event.content);
  if (data === undefined) return undefined;
  return decodeBytes({ encoding: event.encoding, data }, event.bytes + (event.redacted ? MAX_GROWTH : 0));
}
