import { compareDraftPositions, type DraftPosition } from '../core/log/draft-position.ts';
import { MAX_PROGRESS_LENGTH } from '../core/log/progress.ts';
import type { DraftChunk, ReadDraftOptions } from '../ports/store.ts';

/** The chunks of one bounded draft, oldest first, and their length. */
interface Bounded {
  readonly chunks: DraftChunk[];
  length: number;
}

/**
 * The chunks of a session in memory, in order, by the same rules as `addChunks` and `selectChunks`. The cost of adding a chunk and of
 * reading those after a position does not depend on the number of chunks.
 */
export class DraftList {
  #chunks: DraftChunk[] = [];
  readonly #bounded = new Map<string, Bounded>();

  add(chunks: readonly DraftChunk[]): void {
    for (const chunk of chunks) {
      const at = this.#after(chunk);
      const known = this.#chunks[at - 1];
      if (known && compareDraftPositions(known, chunk) === 0) continue;
      const own = { ...chunk };
      if (at === this.#chunks.length) this.#chunks.push(own);
      else this.#chunks.splice(at, 0, own);
      if (chunk.kind === 'progress') this.#bind(own);
    }
    for (const draftId of new Set(chunks.map((chunk) => chunk.draftId))) this.#dropExcess(draftId);
  }

  read({ after, draftId, limit }: ReadDraftOptions): readonly DraftChunk[] {
    const from = after ? this.#after(after) : 0;
    if (draftId === undefined) return this.#chunks.slice(from, limit === undefined ? undefined : from + limit);
    const found: DraftChunk[] = [];
    for (let i = from; i < this.#chunks.length && found.length < (limit ?? Number.POSITIVE_INFINITY); i++) {
      const chunk = this.#chunks[i];
      if (chunk?.draftId === draftId) found.push(chunk);
    }
    return found;
  }

  end(draftIds: readonly string[] = []): void {
    if (draftIds.length === 0 || this.#chunks.length === 0) return;
    const ended = new Set(draftIds);
    for (const draftId of ended) this.#bounded.delete(draftId);
    this.#chunks = this.#chunks.filter((chunk) => !ended.has(chunk.draftId));
  }

  /** The index of the first chunk after a position. Searches from the end, which is almost always the result. */
  #after(position: DraftPosition): number {
    const last = this.#chunks.at(-1);
    if (!last || compareDraftPositions(last, position) <= 0) return this.#chunks.length;
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const chunk = this.#chunks[middle];
      if (chunk && compareDraftPositions(chunk, position) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #bind(chunk: DraftChunk): void {
    const bounded = this.#bounded.get(chunk.draftId) ?? { chunks: [], length: 0 };
    this.#bounded.set(chunk.draftId, bounded);
    bounded.length += chunk.delta.length;
    const last = bounded.chunks.at(-1);
    bounded.chunks.push(chunk);
    if (last && compareDraftPositions(last, chunk) > 0) bounded.chunks.sort(compareDraftPositions);
  }

  #dropExcess(draftId: string): void {
    const bounded = this.#bounded.get(draftId);
    if (!bounded) return;
    while (bounded.length > MAX_PROGRESS_LENGTH && bounded.chunks.length > 1) {
      const oldest = bounded.chunks.shift() as DraftChunk;
      bounded.length -= oldest.delta.length;
      this.#chunks.splice(this.#after(oldest) - 1, 1);
    }
  }
}
