/** Something of a conversation that the target of an export has no place for. */
export interface Loss {
  /** What is missing or changed, e.g. `reasoning`. */
  readonly what: string;
  readonly why: string;
  readonly count: number;
  /** The ids of the first few. */
  readonly examples: readonly string[];
}

const MAX_EXAMPLES = 3;

/** Counts what an export leaves out, so that nothing is lost in silence. */
export class LossReport {
  readonly #losses = new Map<string, { what: string; why: string; count: number; examples: string[] }>();

  add(what: string, why: string, example: string): void {
    const key = `${what}\n${why}`;
    const known = this.#losses.get(key) ?? { what, why, count: 0, examples: [] };
    known.count++;
    if (known.examples.length < MAX_EXAMPLES && !known.examples.includes(example)) known.examples.push(example);
    this.#losses.set(key, known);
  }

  list(): readonly Loss[] {
    return [...this.#losses.values()];
  }
}
