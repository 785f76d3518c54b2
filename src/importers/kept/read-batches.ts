/** Cuts a file into batches of whole lines, with a few batches of it in memory. */
import { readSync } from 'node:fs';

/** The size of a batch. Search reads a whole batch to show a hit, so it is not larger. */
const BATCH = 128 * 1024;
/** A longer line is cut into several batches: no message is that long. */
const MAX_LINE = 8 * 1024 * 1024;
const READ = 1024 * 1024;
const NEWLINE = 10;

/** Some bytes of a file. They are valid until the next batch is read. */
export interface FileBatch {
  readonly offset: number;
  readonly bytes: Buffer;
  /** Nothing follows it. */
  readonly isLast: boolean;
}

/** A buffer that no reading uses: the buffers of thousands of small files would be freed late. */
let spare: Buffer | undefined;

/** Reads a file from an offset up to `size`. A last line without a newline is a batch of its own. */
export function* readBatches(fd: number, from: number, size: number): Generator<FileBatch> {
  const buffer = spare ?? Buffer.allocUnsafeSlow(READ + BATCH);
  spare = undefined;
  try {
    yield* batchesOf(fd, from, size, buffer);
  } finally {
    spare = buffer;
  }
}

function* batchesOf(fd: number, from: number, size: number, given: Buffer): Generator<FileBatch> {
  let buffer = given;
  let start = 0;
  let end = 0;
  let offset = from;
  const readUpTo = (wanted: number): void => {
    if (start > 0 && start + wanted > buffer.length) {
      buffer.copy(buffer, 0, start, end);
      end -= start;
      start = 0;
    }
    if (wanted > buffer.length) {
      const larger = Buffer.allocUnsafeSlow(wanted * 2);
      buffer.copy(larger, 0, start, end);
      end -= start;
      start = 0;
      buffer = larger;
    }
    while (end - start < wanted) {
      const position = offset + end - start;
      const length = Math.min(buffer.length - end, size - position);
      const bytesRead = length <= 0 ? 0 : readSync(fd, buffer, end, length, position);
      if (bytesRead === 0) return; // the end, also when the file was cut meanwhile
      end += bytesRead;
    }
  };
  for (;;) {
    readUpTo(BATCH);
    if (start === end) return;
    let wanted = BATCH;
    let length = batchLength(buffer, start, end, wanted);
    while (length === undefined && end - start >= wanted && wanted < MAX_LINE) {
      wanted *= 2;
      readUpTo(wanted);
      length = batchLength(buffer, start, end, wanted);
    }
    const taken = length ?? Math.min(end - start, MAX_LINE);
    const isLast = offset + taken >= size;
    yield { offset, bytes: buffer.subarray(start, start + taken), isLast };
    start += taken;
    offset += taken;
  }
}

/** The length of the whole lines at `start`: as many as fit into a batch, or the first one alone; `undefined` when its end is not there. */
function batchLength(buffer: Buffer, start: number, end: number, limit: number): number | undefined {
  const last = buffer.lastIndexOf(NEWLINE, Math.min(end, start + limit) - 1);
  if (last >= start) return last + 1 - start;
  const next = buffer.indexOf(NEWLINE, start);
  return next < 0 || next >= end ? undefined : next + 1 - start;
}
