/** Where time comes from. Tests and replays bring their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `callback` once, `ms` from now; the answer cancels it. A waiting timer never keeps a process alive. */
  after(ms: number, callback: () => void): () => void;
}
