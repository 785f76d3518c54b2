import type { DraftChunk, Store } from '../../src/ports/store.ts';

/** A chunk without the numbers that its lease assigns. */
export type Unnumbered = Omit<DraftChunk, 'fence' | 'n' | 'draftId'> & { readonly draftId?: string };

/** Writes a draft as a process leaves it that was killed while it streamed. */
export async function writeDraft(store: Store, sessionId: string, chunks: readonly Unnumbered[]): Promise<void> {
  const holder = { id: 'dead', host: 'elsewhere', pid: 1, startedAt: '0' };
  const { lease } = await store.acquireLease(sessionId, { holder, ttlMs: 1000 });
  const { fence } = lease;
  const numbered = chunks.map((chunk, i) => ({ draftId: chunk.evaluationId, ...chunk, fence, n: i + 1 }));
  await store.appendDraft(sessionId, numbered, { fence });
  await store.releaseLease(sessionId, fence);
}
