import type { ConversationEvent } from '../../conversation/events.ts';
import type { ClaudeEntry } from './entry.ts';
import type { ClaudeTranscript } from './transcript.ts';

/**
 * Moves along the lines of one file, from entry to entry.
 *
 * Contract: `head` is the current entry, `undefined` before the first `advance` and after the last. `advance` returns a promise only
 * when it has to read more of its file.
 */
export interface ClaudeCursor {
  readonly head: ClaudeEntry | undefined;
  advance(): boolean | Promise<boolean>;
}

/**
 * Merges the files of a session by time and converts their entries to events. The last events close what is still open. The caller awaits each promise that is yielded before it
 * takes the next step; cursors over texts in memory yield none.
 */
export function* convertInOrder(
  transcript: ClaudeTranscript,
  cursors: readonly ClaudeCursor[],
): Generator<readonly ConversationEvent[] | Promise<boolean>> {
  const reading = new OldestFirst();
  for (const [index, cursor] of cursors.entries()) {
    const more = cursor.advance();
    if (typeof more !== 'boolean') yield more;
    if (cursor.head !== undefined) reading.add({ cursor, index });
  }
  for (let cursor = reading.oldest; cursor?.head !== undefined; cursor = reading.oldest) {
    const events = transcript.add(cursor.head);
    if (events.length > 0) yield events;
    const more = cursor.advance();
    if (typeof more !== 'boolean') yield more;
    reading.advanced();
  }
  yield transcript.finish();
}

/** A cursor, and its index among all. */
interface Reading {
  readonly cursor: ClaudeCursor;
  readonly index: number;
}

/** The cursors that have an entry, as a binary heap: a session can have thousands of files. */
class OldestFirst {
  readonly #heap: Reading[] = [];

  /** The cursor with the oldest entry; of equally old ones, the first. */
  get oldest(): ClaudeCursor | undefined {
    return this.#heap[0]?.cursor;
  }

  add(reading: Reading): void {
    const heap = this.#heap;
    let place = heap.length;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above] as Reading;
      if (!isBefore(reading, parent)) break;
      heap[place] = parent;
      place = above;
    }
    heap[place] = reading;
  }

  /** Restores the order after the oldest cursor was advanced. */
  advanced(): void {
    const heap = this.#heap;
    const isAtEnd = heap[0]?.cursor.head === undefined;
    const moved = isAtEnd ? heap.pop() : heap[0];
    if (moved === undefined || heap.length === 0) return;
    let place = 0;
    while (true) {
      const left = 2 * place + 1;
      const right = heap[left + 1];
      let next = heap[left];
      if (next === undefined) break;
      const isRight = right !== undefined && isBefore(right, next);
      if (isRight) next = right;
      if (!isBefore(next, moved)) break;
      heap[place] = next;
      place = isRight ? left + 1 : left;
    }
    heap[place] = moved;
  }
}

function isBefore(a: Reading, b: Reading): boolean {
  const first = a.cursor.head?.timestamp ?? '';
  const second = b.cursor.head?.timestamp ?? '';
  return first === second ? a.index < b.index : first < second;
}
