/** What stands at something that happened at a time, and its place among all. */
interface Reading<C> {
  readonly cursor: C;
  readonly index: number;
}

/** Cursors that have a head, as a binary heap by its time: a session can have thousands of files. */
export class OldestFirst<C> {
  readonly #heap: Reading<C>[] = [];
  readonly #timeOf: (cursor: C) => string | number | undefined;

  /** `timeOf`: the time of a cursor's head, as texts or as numbers that sort; `undefined` when the cursor is at its end. */
  constructor(timeOf: (cursor: C) => string | number | undefined) {
    this.#timeOf = timeOf;
  }

  /** The cursor with the oldest entry; of equally old ones, the first. */
  get oldest(): C | undefined {
    return this.#heap[0]?.cursor;
  }

  /** Adds a cursor; `index` orders those whose heads are equally old. */
  add(cursor: C, index: number): void {
    const heap = this.#heap;
    const reading = { cursor, index };
    let place = heap.length;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above] as Reading<C>;
      if (!this.#isBefore(reading, parent)) break;
      heap[place] = parent;
      place = above;
    }
    heap[place] = reading;
  }

  /** Restores the order after the oldest cursor was advanced. */
  advanced(): void {
    const heap = this.#heap;
    const isAtEnd = heap[0] !== undefined && this.#timeOf(heap[0].cursor) === undefined;
    const moved = isAtEnd ? heap.pop() : heap[0];
    if (moved === undefined || heap.length === 0) return;
    let place = 0;
    while (true) {
      const left = 2 * place + 1;
      const right = heap[left + 1];
      let next = heap[left];
      if (next === undefined) break;
      const isRight = right !== undefined && this.#isBefore(right, next);
      if (isRight) next = right;
      if (!this.#isBefore(next, moved)) break;
      heap[place] = next;
      place = isRight ? left + 1 : left;
    }
    heap[place] = moved;
  }

  #isBefore(a: Reading<C>, b: Reading<C>): boolean {
    const first = this.#timeOf(a.cursor) ?? '';
    const second = this.#timeOf(b.cursor) ?? '';
    return first === second ? a.index < b.index : first < second;
  }
}
