/** Names that each stand once: a name that is used again gets `#2`, `#3` and so on (D46). */
export class NumberedNames {
  /** How often each plain name was used. */
  readonly #counts = new Map<string, number>();

  /** Uses a name. */
  add(name: string): string {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    return this.newest(name);
  }

  /** The name of its newest use: that of the call which a result belongs to. */
  newest(name: string): string {
    const count = this.#counts.get(name) ?? 1;
    return count === 1 ? name : `${name}#${count}`;
  }
}
