/**
 * Which lines of a conversation still count. Every line names the line it answers, so a file holds a tree, and most of its forks
 * are harmless: parallel results and hooks hang beside the trunk. But a person who rewinds writes a new prompt at an earlier
 * place, and what had followed that place is superseded.
 *
 *     prompt 1 ─ answer 1 ─┬─ prompt 2 ─ answer 2          superseded by
 *                          └─ prompt 2, once more ─ …      the newer prompt in the same place
 *
 * Positions count the lines that were placed. Only a prompt can rewind; a prompt whose place is unknown goes to the end.
 */

/** What a line is to the tree: a prompt, something else that was said, or something beside (a result, a notice). */
export type LineRole = 'prompt' | 'speech' | 'aside';

type Placement =
  | {
      readonly kind: 'placed';
      readonly position: number /** Lines after this one no longer count. */;
      readonly rewoundTo?: number;
    }
  | { readonly kind: 'repeated' }
  | { readonly kind: 'superseded' };

const REPEATED: Placement = { kind: 'repeated' };
const SUPERSEDED: Placement = { kind: 'superseded' };

export class Branches {
  readonly #positions = new Map<string, number>();
  /** For each line that a prompt answered: the position before the first such prompt. */
  readonly #promptPlaces = new Map<string, number>();
  /** Ranges of positions that were superseded, from (exclusive) and to (inclusive). */
  readonly #superseded: [number, number][] = [];
  #last = -1;
  #lastSpeech = -1;

  place(uuid: string | undefined, parentUuid: string | undefined, role: LineRole): Placement {
    if (uuid !== undefined && this.#positions.has(uuid)) return REPEATED;
    const parent = parentUuid === undefined ? undefined : this.#positions.get(parentUuid);
    const isDead = parent !== undefined && this.#isSuperseded(parent);
    if (isDead && role !== 'prompt') {
      if (uuid !== undefined) this.#positions.set(uuid, parent);
      return SUPERSEDED;
    }
    let rewoundTo: number | undefined;
    if (role === 'prompt' && parentUuid !== undefined && !isDead) {
      const place = parent ?? this.#promptPlaces.get(parentUuid);
      if (place === undefined) this.#promptPlaces.set(parentUuid, this.#last);
      else if (this.#lastSpeech > place) {
        rewoundTo = place;
        this.#superseded.push([place, this.#last]);
      }
    }
    const position = ++this.#last;
    if (uuid !== undefined) this.#positions.set(uuid, position);
    if (role !== 'aside') this.#lastSpeech = position;
    return rewoundTo === undefined ? { kind: 'placed', position } : { kind: 'placed', position, rewoundTo };
  }

  /** Whether a line was placed and still counts. */
  isLive(uuid: string): boolean {
    const position = this.#positions.get(uuid);
    return position !== undefined && !this.#isSuperseded(position);
  }

  #isSuperseded(position: number): boolean {
    return this.#superseded.some(([from, to]) => position > from && position <= to);
  }
}
