/** Where time comes from. Tests and replays bring their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Milliseconds of the system's monotonic clock (`process.hrtime`), which all processes of a boot share and nobody sets. A clock that
   * has it judges leases by it (D76). A clock with a time of its own leaves it out: its leases are judged by `now` alone.
   */
  monotonic?(): number;
  /** Runs `callback` once, `ms` from now; the answer cancels it. A `background` timer does not keep a process alive. */
  after(ms: number, callback: () => void, options?: { readonly background?: boolean }): () => void;
}
