/**
 * A persistent list: an update shares everything that it did not change, so it costs the same at 10 items and at a million.
 *
 * Items are in a tree of 32-wide nodes plus a growing tail. All lists that grew from one list share the tail's buffer: each list only
 * reads the items below its own length, so the newest list may push in place.
 *
 *     root ─ node ─ [32 items] [32 items] …        tail: [up to 32 items]
 */

const BITS = 5;
const WIDTH = 1 << BITS;
const MASK = WIDTH - 1;

type Node<T> = readonly (Node<T> | T)[];

/** Array-like, immutable, cheap to grow and to update; iterate it or call `toArray()`. */
export class List<T> implements Iterable<T> {
  static readonly #empty: List<never> = new List<never>([], BITS, [], 0, undefined);

  readonly #root: Node<T>;
  readonly #shift: number;
  /** Shared with other lists; only the first `#tailLength` items belong to this one. */
  readonly #tail: T[];
  readonly #tailLength: number;
  readonly length: number;
  #array: readonly T[] | undefined;

  private constructor(root: Node<T>, shift: number, tail: T[], length: number, array: readonly T[] | undefined) {
    this.#root = root;
    this.#shift = shift;
    this.#tail = tail;
    this.length = length;
    this.#tailLength = length - tailOffset(length);
    this.#array = array;
  }

  static empty<T>(): List<T> {
    return List.#empty;
  }

  static from<T>(items: Iterable<T>): List<T> {
    return List.empty<T>().pushAll(Array.isArray(items) ? items : [...items]);
  }

  /** The item at `index`; negative counts from the end, as in `Array.prototype.at`. */
  at(index: number): T | undefined {
    const i = index < 0 ? this.length + index : index;
    if (!(i >= 0 && i < this.length)) return undefined;
    const offset = tailOffset(this.length);
    return i >= offset ? this.#tail[i - offset] : (this.#leaf(i)[i & MASK] as T);
  }

  /** A list with `item` at the end. */
  push(item: T): List<T> {
    const { length } = this;
    if (this.#tailLength < WIDTH) {
      // The newest list that shares the buffer grows it in place; any other list copies it.
      const tail =
        this.#tail.length === this.#tailLength && length > 0 ? this.#tail : this.#tail.slice(0, this.#tailLength);
      tail.push(item);
      return new List<T>(this.#root, this.#shift, tail, length + 1, undefined);
    }
    const full: Node<T> = this.#tail.length === WIDTH ? this.#tail : this.#tail.slice(0, WIDTH);
    const offset = tailOffset(length);
    const grows = offset >>> BITS >= 1 << this.#shift;
    const root = grows ? [this.#root, pathTo(this.#shift, full)] : insertLeaf(this.#root, this.#shift, offset, full);
    return new List<T>(root, grows ? this.#shift + BITS : this.#shift, [item], length + 1, undefined);
  }

  /** A list with all of these at the end. Creates one new list for every tail that they fill. */
  pushAll(items: readonly T[]): List<T> {
    let list: List<T> = this;
    for (let i = 0; i < items.length; ) {
      list = list.push(items[i++] as T); // now this list owns the tail
      const more = Math.min(WIDTH - list.#tailLength, items.length - i);
      if (more === 0) continue;
      for (const end = i + more; i < end; i++) list.#tail.push(items[i] as T);
      list = new List<T>(list.#root, list.#shift, list.#tail, list.length + more, undefined);
    }
    return list;
  }

  /** A list with `item` in place of the one at `index`; out of range changes nothing. */
  set(index: number, item: T): List<T> {
    if (!(index >= 0 && index < this.length)) return this;
    if (Object.is(this.at(index), item)) return this;
    const offset = tailOffset(this.length);
    if (index >= offset) {
      const tail = this.#tail.slice(0, this.#tailLength);
      tail[index - offset] = item;
      return new List<T>(this.#root, this.#shift, tail, this.length, undefined);
    }
    return new List<T>(replace(this.#root, this.#shift, index, item), this.#shift, this.#tail, this.length, undefined);
  }

  /** The items as a frozen array, created once per list. */
  toArray(): readonly T[] {
    if (this.#array) return this.#array;
    const array = new Array<T>(this.length);
    const offset = tailOffset(this.length);
    for (let i = 0; i < offset; i += WIDTH) {
      const leaf = this.#leaf(i);
      for (let j = 0; j < WIDTH; j++) array[i + j] = leaf[j] as T;
    }
    for (let i = 0; i < this.#tailLength; i++) array[offset + i] = this.#tail[i] as T;
    this.#array = Object.freeze(array);
    return array;
  }

  toJSON(): T[] {
    return this.toArray().slice();
  }

  map<U>(f: (item: T, index: number) => U): U[] {
    const result: U[] = [];
    let index = 0;
    for (const item of this) result.push(f(item, index++));
    return result;
  }

  filter(f: (item: T, index: number) => boolean): T[] {
    const result: T[] = [];
    let index = 0;
    for (const item of this) if (f(item, index++)) result.push(item);
    return result;
  }

  find(f: (item: T, index: number) => boolean): T | undefined {
    let index = 0;
    for (const item of this) if (f(item, index++)) return item;
    return undefined;
  }

  /** The items from `start` up to, not including, `end`; negative counts from the end. */
  slice(start = 0, end: number = this.length): T[] {
    const from = start < 0 ? Math.max(0, this.length + start) : start;
    const to = Math.min(end < 0 ? this.length + end : end, this.length);
    const result: T[] = [];
    for (let i = from; i < to; i++) result.push(this.at(i) as T);
    return result;
  }

  *[Symbol.iterator](): Iterator<T> {
    const offset = tailOffset(this.length);
    for (let i = 0; i < offset; i += WIDTH) yield* this.#leaf(i) as readonly T[];
    for (let i = 0; i < this.#tailLength; i++) yield this.#tail[i] as T;
  }

  #leaf(index: number): Node<T> {
    let node = this.#root;
    for (let level = this.#shift; level > 0; level -= BITS) node = node[(index >>> level) & MASK] as Node<T>;
    return node;
  }
}

/** Where the tail begins: everything below is in the tree. */
function tailOffset(length: number): number {
  return length <= WIDTH ? 0 : ((length - 1) >>> BITS) << BITS;
}

function pathTo<T>(level: number, leaf: Node<T>): Node<T> {
  return level === 0 ? leaf : [pathTo(level - BITS, leaf)];
}

function insertLeaf<T>(node: Node<T>, level: number, offset: number, leaf: Node<T>): Node<T> {
  const slot = (offset >>> level) & MASK;
  const copy = node.slice();
  const child = node[slot] as Node<T> | undefined;
  copy[slot] =
    level === BITS ? leaf : child ? insertLeaf(child, level - BITS, offset, leaf) : pathTo(level - BITS, leaf);
  return copy;
}

function replace<T>(node: Node<T>, level: number, index: number, item: T): Node<T> {
  const copy = node.slice();
  const slot = (index >>> level) & MASK;
  copy[slot] = level === 0 ? item : replace(node[slot] as Node<T>, level - BITS, index, item);
  return copy;
}
