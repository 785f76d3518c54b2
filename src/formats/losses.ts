/** Something of a conversation that the target of an export has no place for. */
export interface Loss {
  /** What is missing or changed, e.g. `reasoning`. */
  readonly what: string;
  readonly why: string;
  readonly count: number;
  /** The ids of the first few. */
  readonly examples: readonly string[];
}

/** One thing that a format could not hold as it was recorded. */
export interface FormatLoss {
  /** What is missing or changed, e.g. `reasoning`. */
  readonly what: string;
  readonly why: string;
  /** The id of the message or the call. */
  readonly id: string;
}

/** How to write messages in a provider's format. */
export interface FormatOptions {
  /**
   * Receives what the format cannot hold. With it, media that cannot be sent is left out and reported; without it, such media is an
   * `INVALID_ARGUMENT` or a `CONTENT_NOT_FOUND`.
   */
  readonly onLoss?: ((loss: FormatLoss) => void) | undefined;
}

const MAX_EXAMPLES = 3;

/** Counts what an export leaves out or changes. */
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

/** Codec options that count what is lost in a report. */
export function onLossOf(report: LossReport): FormatOptions {
  return { onLoss: ({ what, why, id }) => report.add(what, why, id) };
}
