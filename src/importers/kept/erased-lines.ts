/** Keeps erased lines out of an import, also when the agent has rewritten its file (D75). */
import type { ErasedRange } from '../../core/log/source-events.ts';
import type { KeptLog } from './kept-log.ts';
import { hashOf } from './record-appender.ts';

const NEWLINE = 10;
const RETURN = 13;

/** A line in some bytes. */
export interface Line {
  readonly start: number;
  /** The line with its line end. */
  readonly bytes: Buffer;
  /** The line without its line end. */
  readonly content: Buffer;
}

/** The lines in bytes; the last one may have no line end. */
export function* linesIn(bytes: Buffer): Generator<Line> {
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline + 1;
    const line = bytes.subarray(start, end);
    yield { start, bytes: line, content: withoutEnd(line) };
    start = end;
  }
}

function withoutEnd(line: Buffer): Buffer {
  if (line.at(-1) !== NEWLINE) return line;
  return line.subarray(0, line.at(-2) === RETURN ? -2 : -1);
}

/** What is left of a batch without its erased lines. */
export interface LeftBytes {
  readonly bytes: Buffer;
  readonly erased: readonly ErasedRange[];
}

/** The lines that were erased from a session, by hash. */
export class ErasedLines {
  readonly #hashes: ReadonlySet<string>;

  constructor({ source, files, replaced }: KeptLog) {
    const all = source?.erased ? [...replaced, ...files.values()] : [];
    const marks = all.flatMap((file) => file.batches.flatMap(({ erased }) => erased ?? []));
    this.#hashes = new Set(marks.flatMap(({ record }) => record ?? []));
  }

  /**
   * Leaves erased lines out of a batch at an offset; `undefined` when it has none. With `isContinued`, the first line continues an erased one.
   * A line that was erased from an import with `redact` is known by its redacted form.
   */
  leaveOut(
    bytes: Buffer,
    offset: number,
    { isContinued, redact }: { readonly isContinued: boolean; readonly redact: ((text: string) => string) | undefined },
  ): LeftBytes | undefined {
    if (this.#hashes.size === 0 && !isContinued) return undefined;
    const left: Buffer[] = [];
    const erased: ErasedRange[] = [];
    for (const line of linesIn(bytes)) {
      const record = hashOf(line.content);
      const isErased =
        (isContinued && line.start === 0) ||
        this.#hashes.has(record) ||
        (redact && line.content.length > 0 && this.#hashes.has(hashOf(redact(line.content.toString('utf8')))));
      if (!isErased) left.push(line.bytes);
      else erased.push({ offset: offset + line.start, bytes: line.bytes.length, hash: hashOf(line.bytes), record });
    }
    return erased.length === 0 ? undefined : { bytes: Buffer.concat(left), erased };
  }
}
