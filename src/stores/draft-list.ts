import { compareDraftPositions, type DraftPosition } from '../core/log/draft-position.ts';
import type { DraftRow, StoreBackend } from './shell/backend.ts';

type Parameters<Name extends 'writeDrafts' | 'readDrafts'> = globalThis.Parameters<StoreBackend[Name]>;

/** The chunks of one limited draft, oldest first, and their length. */
interface Limited {
  readonly chunks: DraftRow[];
  length: number;
}

/**
 * The chunks of a session in memory, in order. The cost of adding a chunk and of reading those after a position does not depend on the
 * number of chunks.
 */
export class DraftList {
  #chunks: DraftRow[] = [];
  readonly #limited = new Map<string, Limited>();

  add(chunks: readonly DraftRow[], { draftIds, maxLength }: Parameters<'writeDrafts'>[3]): void {
    for (const chunk of chunks) {
      const at = this.#after(chunk);
      const known = this.#chunks[at - 1];
      if (known && compareDraftPositions(known, chunk) === 0) continue;
      if (at === this.#chunks.length) this.#chunks.push(chunk);
      else this.#chunks.splice(at, 0, chunk);
      if (draftIds.includes(chunk.draftId)) this.#limit(chunk);
    }
    for (const draftId of draftIds) this.#dropExcess(draftId, maxLength);
  }

  read({ after, draftId, limit }: Parameters<'readDrafts'>[1]): readonly DraftRow[] {
    const from = this.#after(after);
    if (draftId === undefined) return this.#chunks.slice(from, limit === undefined ? undefined : from + limit);
    const found: DraftRow[] = [];
    for (let i = from; i < this.#chunks.length && found.length < (limit ?? Number.POSITIVE_INFINITY); i++) {
      const chunk = this.#chunks[i];
      if (chunk?.draftId === draftId) found.push(chunk);
    }
    return found;
  }

  end(draftIds: readonly string[]): void {
    if (draftIds.length === 0 || this.#chunks.length === 0) return;
    const ended = new Set(draftIds);
    for (const draftId of ended) this.#limited.delete(draftId);
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

  #limit(chunk: DraftRow): void {
    const limited = this.#limited.get(chunk.draftId) ?? { chunks: [], length: 0 };
    this.#limited.set(chunk.draftId, limited);
    limited.length += chunk.length;
    const last = limited.chunks.at(-1);
    limited.chunks.push(chunk);
    if (last && compareDraftPositions(last, chunk) > 0) limited.chunks.sort(compareDraftPositions);
  }

  #dropExcess(draftId: string, maxLength: number): void {
    const limited = this.#limited.get(draftId);
    if (!limited) return;
    while (limited.length > maxLength && limited.chunks.length > 1) {
      const oldest = limited.chunks.shift() as DraftRow;
      limited.length -= oldest.length;
      this.#chunks.splice(this.#after(oldest) - 1, 1);
    }
  }
}
