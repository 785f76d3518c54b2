/**
 * How much of a long work one transaction may do. Whoever appends waits for it, and so does the event loop: a slice ends after a
 * number of events, an amount of text or a short time, whichever comes first.
 */

/** The most events that one transaction of a long work touches. */
export const SLICE_EVENTS = 2000;
/** The most text, in characters, except that one event may be longer. */
export const SLICE_CHARACTERS: number = 1024 * 1024;
const SLICE_MS = 10;

export class SliceBudget {
  readonly #end: number = performance.now() + SLICE_MS;
  #events = 0;
  #characters = 0;

  /** Counts an event; true while there is room for another. */
  take(characters: number): boolean {
    this.#events++;
    this.#characters += characters;
    return this.#events < SLICE_EVENTS && this.#characters < SLICE_CHARACTERS && performance.now() < this.#end;
  }
}
