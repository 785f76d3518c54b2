import type { DraftChunk, DraftPosition } from '../ports/store.ts';

/** A call's progress is bounded: a tool may stream megabytes, and a reader needs what it printed last (D62). */
export const MAX_PROGRESS_LENGTH: number = 64 * 1024;

/** Orders chunks by fence, then by number (D74). */
export function compareDraftPositions(a: DraftPosition, b: DraftPosition): number {
  return a.fence - b.fence || a.n - b.n;
}

/** Of a draft's chunks, oldest first, how many to drop so that the rest fits; the newest is always kept. */
export function excessProgress(lengths: readonly number[]): number {
  let kept = 0;
  for (let i = lengths.length - 1; i >= 0; i--) {
    kept += lengths[i] ?? 0;
    if (kept > MAX_PROGRESS_LENGTH) return Math.min(i + 1, lengths.length - 1);
  }
  return 0;
}

/** The drafts among these chunks that are bounded. */
export function boundedDrafts(chunks: readonly DraftChunk[]): ReadonlySet<string> {
  return new Set(chunks.flatMap((chunk) => (chunk.kind === 'progress' ? [chunk.draftId] : [])));
}
