/**
 * Finds positions by key for every version of a persistent list at once.
 *
 * All versions grown from one start share one index. It holds every place where a key was ever put, by any of them, and only
 * grows; so it is a superset of what is true for each, and a version trusts an answer only after looking at its own item there.
 * That makes growing and branching equally cheap, and leaves nothing for a frozen state to freeze.
 */
export class PositionIndex {
  readonly #positions = new Map<string, number | readonly number[]>();

  /** How many keys were ever put, by any version. */
  get size(): number {
    return this.#positions.size;
  }

  /** Where the key may stand: nowhere, in one place, or in one of several. */
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
