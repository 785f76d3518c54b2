/** How much of a long work one transaction may do: other transactions wait for it, and its changes are sent to every replica at once. */

/** The most events that one transaction of a long work touches. */
export const SLICE_EVENTS = 2000;
/** The most bytes; a single event that is longer has a transaction of its own. */
export const SLICE_BYTES: number = 1_000_000;
