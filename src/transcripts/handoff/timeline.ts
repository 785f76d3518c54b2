/** The newest year that ISO times write with four digits ends later; times before 1970 are not the time of a conversation. */
const EARLIEST = 0;

/**
 * The times of a written transcript's lines: strictly increasing, all before the time of writing. Agents and parsers sort by time, and
 * what the agent adds must come last. The source's own times are used where they fit.
 */
export class Timeline {
  readonly #end: number;
  #left: number;
  #latest = Number.NEGATIVE_INFINITY;

  /** `count`: how often `next` is called at most. `end`: milliseconds, the time of writing. */
  constructor(count: number, end: number) {
    this.#left = count;
    this.#end = end;
  }

  /** The time of the next line, in milliseconds. `at`: the time in the source, if it is known. */
  next(at?: string): number {
    const limit = this.#end - this.#left--;
    const known = at === undefined ? Number.NaN : Date.parse(at);
    const wanted = Number.isNaN(known) ? (this.#latest > EARLIEST ? this.#latest + 1 : limit) : known;
    this.#latest = Math.max(EARLIEST, Math.min(Math.max(wanted, this.#latest + 1), limit));
    return this.#latest;
  }

  /** The same as ISO time. */
  nextText(at?: string): string {
    return new Date(this.next(at)).toISOString();
  }
}
