/** The source of time. Tests and replays pass their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Milliseconds of the system's monotonic clock (`process.hrtime`): shared by all processes of a boot, and never adjusted. When present,
   * leases are judged by it (D76). A clock with simulated time omits it, and its leases are judged by `now` alone.
   */
  monotonic?(): number;
  /** Calls `callback` once, `ms` from now. Returns a function that cancels it. A `background` timer does not keep the process alive. */
  after(ms: number, callback: () => void, options?: { readonly background?: boolean }): () => void;
}
