/**
 * Finds positions by key, in all versions of a persistent list at once.
 *
 * All versions that start from one list share one index. It holds every position where any version ever put a key, and only grows.
 * So its positions are candidates: a version checks its own item at each. Growing and branching are equally cheap, and a frozen
 * state has nothing to freeze.
 */
export class PositionIndex {
  readonly #positions = new Map<string, number | readonly number[]>();

  /** The number of keys that any version ever put. */
  get size(): number {
    return this.#positions.size;
  }

  /** The positions where the key may be: none, one, or several. */
  candidates(key: string): number | readonly number[] | undefined {
    return this.#positions.get(key);
  }

  add(key: string, position: number): void {
    const known = this.#positions.get(key);
    if (known === undefined) this.#positions.set(key, position);
    else if (typeof known === 'number') {
      if (known !== position) this.#positions.set(key, [known, position]);
    } else if (!known.includes(position)) this.#positions.set(key, [...known, position]);
  }
}
