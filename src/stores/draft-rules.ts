import { compareDraftPositions } from '../core/log/draft-position.ts';
import { MAX_PROGRESS_LENGTH } from '../core/log/progress.ts';
import type { DraftChunk, ReadDraftOptions } from '../ports/store.ts';

/** How many of a draft's chunks, oldest first, to drop so that the rest fits. The newest is always kept. */
export function excessProgress(lengths: readonly number[]): number {
  let kept = 0;
  for (let i = lengths.length - 1; i >= 0; i--) {
    kept += lengths[i] ?? 0;
    if (kept > MAX_PROGRESS_LENGTH) return Math.min(i + 1, lengths.length - 1);
  }
  return 0;
}

/** The ids of the drafts among these chunks whose length is limited. */
export function boundedDrafts(chunks: readonly DraftChunk[]): ReadonlySet<string> {
  return new Set(chunks.flatMap((chunk) => (chunk.kind === 'progress' ? [chunk.draftId] : [])));
}

/** Adds chunks to the ordered chunks of a session: each position once, limited drafts cut to their newest part. */
export function addChunks(drafts: readonly DraftChunk[], chunks: readonly DraftChunk[]): DraftChunk[] {
  let all = [...drafts];
  for (const chunk of chunks) {
    // Almost always at the end: searched from there.
    const before = all.findLastIndex((known) => compareDraftPositions(known, chunk) <= 0);
    const known = all[before];
    if (known && compareDraftPositions(known, chunk) === 0) continue;
    all.splice(before + 1, 0, { ...chunk });
  }
  for (const draftId of boundedDrafts(chunks)) {
    const own = all.filter((chunk) => chunk.draftId === draftId);
    const dropped = new Set(own.slice(0, excessProgress(own.map(({ delta }) => delta.length))));
    if (dropped.size > 0) all = all.filter((chunk) => !dropped.has(chunk));
  }
  return all;
}

/** The chunks that match a reader's options, from ordered chunks. */
export function selectChunks(drafts: readonly DraftChunk[], options: ReadDraftOptions): readonly DraftChunk[] {
  const { after, draftId, limit } = options;
  return drafts
    .filter((chunk) => draftId === undefined || chunk.draftId === draftId)
    .filter((chunk) => after === undefined || compareDraftPositions(chunk, after) > 0)
    .slice(0, limit);
}
