import { HoldfastError } from '../errors.ts';
import type { DraftPosition } from './draft-position.ts';

/**
 * The position of a reader of a tail (D74). As text: `<seq>` or `<seq>.<fence>.<n>`, with the prefix `<incarnation>:` from the second
 * incarnation of a session on.
 */
export interface TailCursor {
  readonly incarnation: number;
  /** The last event that was read; 0 before the first. */
  readonly seq: number;
  /** The last draft chunk that was read; absent when none was, or when its draft has ended. */
  readonly position?: DraftPosition;
}

const CURSOR = /^(?:([1-9]\d*):)?(0|[1-9]\d*)(?:\.(0|[1-9]\d*)\.([1-9]\d*))?$/;

/** The cursor as text. */
export function formatTailCursor({ incarnation, seq, position }: TailCursor): string {
  const prefix = incarnation > 1 ? `${incarnation}:` : '';
  return `${prefix}${seq}${position ? `.${position.fence}.${position.n}` : ''}`;
}

/** Parses a cursor; any other text is `INVALID_ARGUMENT`. */
export function parseTailCursor(text: string): TailCursor {
  const [, incarnation, seq, fence, n] = (typeof text === 'string' && CURSOR.exec(text)) || malformed(text);
  const cursor: TailCursor = {
    incarnation: Number(incarnation ?? 1),
    seq: Number(seq),
    ...(n !== undefined && { position: { fence: Number(fence), n: Number(n) } }),
  };
  const { position = { fence: 0, n: 1 } } = cursor;
  const numbers = [cursor.incarnation, cursor.seq, position.fence, position.n];
  return numbers.every(Number.isSafeInteger) ? cursor : malformed(text);
}

function malformed(text: unknown): never {
  const shown = typeof text === 'string' ? JSON.stringify(text.slice(0, 100)) : typeof text;
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `after is the cursor of an item that was read, such as "12" or "12.3.45", not ${shown}; leave it out to read from the beginning`,
  );
}
