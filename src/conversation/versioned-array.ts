/**
 * A persistent array for one long chain of updates: the newest version holds the items in a plain array, which the next version
 * changes in place, and a superseded version remembers the item that was replaced.
 *
 *     v1 ─[position, item before]─▶ v2 ─[…]─▶ v3: items
 *
 * So updating the newest version costs the same at 10 items and at a million. Reading a version that was just superseded follows a
 * few links; reading or updating an older one makes a copy for it, once. A copy every so often cuts the chain, so that keeping an
 * old version keeps only a bounded number of newer ones.
 *
 * `List` (`core/list.ts`) is the other persistent vector: it is better for many branches. For the blocks of a conversation it was
 * measured slower: deltas by 40 %, reading and iterating by 35 to 50 %.
 */

/** A version that is further from the newest one makes its own copy when it is read. */
const MAX_STEPS = 32;
/** The least number of updates between two copies; a quarter of the length when that is more. */
const MIN_STRETCH = 1024;

/** Array-like and immutable. The module's comment says which operations are cheap. */
export class VersionedArray<T> implements Iterable<T> {
  readonly length: number;
  /** All items, while this is the newest version of its chain. */
  #items: T[] | undefined;
  #newer: VersionedArray<T> | undefined;
  /** The index that the newer version changed; -1 when it only grew. */
  #changedAt = -1;
  #before: T | undefined;
  /** The number of updates since the chain's array was made. */
  #age: number;

  private constructor(items: T[], age: number) {
    this.#items = items;
    this.length = items.length;
    this.#age = age;
  }

  /** An array of the items, in order. */
  static from<T>(items: Iterable<T>): VersionedArray<T> {
    return new VersionedArray([...items], 0);
  }

  at(index: number): T | undefined {
    if (!(index >= 0 && index < this.length)) return undefined;
    let version: VersionedArray<T> | undefined = this;
    for (let steps = 0; version !== undefined && steps < MAX_STEPS; steps++) {
      if (version.#items) return version.#items[index];
      if (version.#changedAt === index) return version.#before;
      version = version.#newer;
    }
    return this.#own()[index];
  }

  /** An array with `item` at the end. */
  push(item: T): VersionedArray<T> {
    const items = this.#own();
    if (this.#isDue()) return new VersionedArray([...items, item], 0);
    items.push(item);
    return this.#supersede(items, -1, undefined);
  }

  /** An array with `item` in place of the one at `index`, which is in range. */
  set(index: number, item: T): VersionedArray<T> {
    const items = this.#own();
    if (this.#isDue()) return new VersionedArray(items.with(index, item), 0);
    const before = items[index];
    items[index] = item;
    return this.#supersede(items, index, before);
  }

  /** An array without its last item. */
  pop(): VersionedArray<T> {
    const items = this.#own();
    if (this.#isDue()) return new VersionedArray(items.slice(0, -1), 0);
    const before = items.pop();
    return this.#supersede(items, items.length, before);
  }

  toJSON(): T[] {
    return this.#own().slice();
  }

  /** Reads each item on demand: an update may happen between two of them. */
  *[Symbol.iterator](): Iterator<T> {
    for (let i = 0; i < this.length; i++) yield this.at(i) as T;
  }

  #isDue(): boolean {
    // Unrelated chains start at the empty array, so it never belongs to one of them.
    return this.length === 0 || this.#age >= Math.max(MIN_STRETCH, this.length >> 2);
  }

  #supersede(items: T[], changedAt: number, before: T | undefined): VersionedArray<T> {
    const newer = new VersionedArray(items, this.#age + 1);
    this.#items = undefined;
    this.#newer = newer;
    this.#changedAt = changedAt;
    this.#before = before;
    return newer;
  }

  /** This version's own array, made by undoing the changes of newer versions. */
  #own(): T[] {
    if (this.#items) return this.#items;
    const path: VersionedArray<T>[] = [];
    let newest: VersionedArray<T> = this;
    while (newest.#items === undefined && newest.#newer) {
      path.push(newest);
      newest = newest.#newer;
    }
    const items = (newest.#items ?? []).slice(0, this.length);
    for (let version = path.pop(); version; version = path.pop()) {
      const index = version.#changedAt;
      if (index >= 0 && index < this.length) items[index] = version.#before as T;
    }
    this.#items = items;
    this.#newer = undefined;
    this.#before = undefined;
    this.#age = 0;
    return items;
  }
}
