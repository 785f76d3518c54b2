import { List } from './list.ts';

/**
 * A persistent list with lookup by key, both in constant time.
 *
 * The key index is one map shared by all lists that grew from the same list. An entry beyond a list's length belongs to a longer list
 * and is ignored. A list that grows after another one did (a branch) copies the index.
 */
export class KeyedList<T> implements Iterable<T> {
  readonly items: List<T>;
  readonly #keyOf: (item: T) => string;
  readonly #index: Map<string, number>;

  private constructor(items: List<T>, keyOf: (item: T) => string, index: Map<string, number>) {
    this.items = items;
    this.#keyOf = keyOf;
    this.#index = index;
  }

  /** A list of the items; of two items with one key the later one replaces the earlier one, at its position. */
  static from<T>(items: Iterable<T>, keyOf: (item: T) => string): KeyedList<T> {
    let list = new KeyedList<T>(List.empty<T>(), keyOf, new Map());
    for (const item of items) list = list.put(item);
    return list;
  }

  get length(): number {
    return this.items.length;
  }

  /** The position of the item with this key, or -1. */
  indexOf(key: string): number {
    const index = this.#index.get(key);
    return index !== undefined && index < this.items.length ? index : -1;
  }

  get(key: string): T | undefined {
    const index = this.indexOf(key);
    return index < 0 ? undefined : this.items.at(index);
  }

  has(key: string): boolean {
    return this.indexOf(key) >= 0;
  }

  /** A list with `item` in place of the item with its key, or at the end. */
  put(item: T): KeyedList<T> {
    const key = this.#keyOf(item);
    const at = this.indexOf(key);
    if (at >= 0) {
      const items = this.items.set(at, item);
      return items === this.items ? this : new KeyedList(items, this.#keyOf, this.#index);
    }
    return this.#pushed(key, item);
  }

  /** A list with `item` at the end; the same list if it has an item with that key. */
  add(item: T): KeyedList<T> {
    const key = this.#keyOf(item);
    return this.has(key) ? this : this.#pushed(key, item);
  }

  #pushed(key: string, item: T): KeyedList<T> {
    const newest = this.#index.size === this.items.length;
    const index = newest ? this.#index : new Map(this.items.map((other, i) => [this.#keyOf(other), i]));
    index.set(key, this.items.length);
    return new KeyedList(this.items.push(item), this.#keyOf, index);
  }

  /** A list without the item with this key. Costs the length of the list: removal is rare. */
  remove(key: string): KeyedList<T> {
    const at = this.indexOf(key);
    if (at < 0) return this;
    return KeyedList.from(
      this.items.filter((_, i) => i !== at),
      this.#keyOf,
    );
  }

  toJSON(): T[] {
    return this.items.toJSON();
  }

  [Symbol.iterator](): Iterator<T> {
    return this.items[Symbol.iterator]();
  }
}
