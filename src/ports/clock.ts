/** Where time comes from. Tests and replays bring their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `callback` once, `ms` from now; the answer cancels it. A `background` timer does not keep a process alive. */
  after(ms: number, callback: () => void, options?: { readonly background?: boolean }): () => void;
}
