import type { DraftPosition } from '../../core/log/draft-position.ts';
import {
  type CallProgress,
  encodeProgress,
  type ProgressPiece,
  ProgressView,
  type StoredPosition,
  type ToolProgress,
} from '../../core/log/progress.ts';
import { isAfter } from './draft-blocks.ts';

interface Entry {
  readonly view: ProgressView;
  /** The newest piece of a tail that was read. */
  newest?: DraftPosition;
}

/** The progress of running calls, by the id of their block. */
export class ProgressViews {
  readonly #entries = new Map<string, Entry>();

  /** Adds a piece; `undefined` when it is known already. */
  add(
    id: string,
    piece: ProgressPiece & Pick<ToolProgress, 'position'>,
    stored?: StoredPosition,
  ): CallProgress | undefined {
    const entry = this.#entries.get(id) ?? { view: new ProgressView() };
    const { position } = piece;
    if (position && !isAfter(position, entry.newest)) return undefined;
    this.#entries.set(id, entry);
    if (position) entry.newest = position;
    return entry.view.add(piece, stored ?? placeOf(piece)) ? entry.view.progress : undefined;
  }

  /** Drops the progress of a call; false when there is none, or when it was reported after `position`. */
  reset(id: string, position: DraftPosition | undefined): boolean {
    const entry = this.#entries.get(id);
    if (position && !isAfter(position, entry?.newest)) return false;
    return this.#entries.delete(id);
  }

  delete(id: string): boolean {
    return this.#entries.delete(id);
  }

  /** Drops everything; returns the calls that had progress. */
  clear(): readonly string[] {
    const ids = [...this.#entries.keys()];
    this.#entries.clear();
    return ids;
  }
}

/** The length of a tail's piece counts as that of its chunk, so that the bound cuts where the store cuts. */
function placeOf(piece: ProgressPiece & Pick<ToolProgress, 'position'>): StoredPosition | undefined {
  const { position, run, offset, text, continues, percent, data } = piece;
  if (!position) return undefined;
  const state = { ...(percent !== undefined && { percent }), ...(data !== undefined && { data }) };
  const chunk = encodeProgress({ run, ...(continues && { continues }), offset, ...state, text });
  return { n: position.n, length: chunk.length };
}
