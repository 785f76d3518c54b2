/**
 * How much of a long work one transaction may do. Appends wait for it, and so does the event loop: a slice ends before
 * it exceeds a number of events or an amount of text, and after a short time, whichever comes first.
 */

/** The most events that one transaction of a long work touches. */
export const SLICE_EVENTS = 2000;
/** The most text, in characters; a single event that is longer has a transaction of its own. */
export const SLICE_CHARACTERS: number = 1_000_000;
/** A slice that uses more of the processor is interrupted on a busy machine, in the middle of its transaction. */
const SLICE_MS = 5;

export class SliceBudget {
  readonly #end: number = performance.now() + SLICE_MS;
  #events = 0;
  #characters = 0;

  /** Counts one more event, or row, if there is room for it; the first always has room. */
  take(characters: number): boolean {
    const isFirst = this.#events === 0;
    const exceeds =
      this.#events >= SLICE_EVENTS || this.#characters + characters > SLICE_CHARACTERS || performance.now() > this.#end;
    if (exceeds && !isFirst) return false;
    this.#events++;
    this.#characters += characters;
    return true;
  }
}
