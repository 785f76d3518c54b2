import type { DraftChunk } from '../../src/ports/store.ts';

const DELTA = 'eight words of text that are said aloud ';

/** The next chunks of a long draft, of which some were written before. */
export function draftChunks(fence: number, written: number, count: number): readonly DraftChunk[] {
  return Array.from(
    { length: count },
    (_, i): DraftChunk => ({
      ...{ draftId: 'draft', evaluationId: 'draft', turn: 1, attempt: 1, blockId: 'draft:1:0', kind: 'text' },
      ...{ fence, n: written + i + 1, delta: DELTA, offset: (written + i) * DELTA.length, after: 1 },
    }),
  );
}
