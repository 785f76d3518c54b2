/** A position among the draft chunks of a session (D74). */
export interface DraftPosition {
  readonly fence: number;
  /** From 1, counted over all chunks that were written to the session under that fence. */
  readonly n: number;
}

/** Orders chunks by fence, then by number. */
export function compareDraftPositions(a: DraftPosition, b: DraftPosition): number {
  return a.fence - b.fence || a.n - b.n;
}
