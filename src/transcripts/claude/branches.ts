/**
 * Decides which lines of a conversation are superseded. Every line names its parent line, so a file holds a tree. Most of its forks
 * supersede nothing: parallel results and hooks have parents on the main branch. But a user who rewinds adds a new prompt to an
 * earlier line, and everything that had followed that line is superseded.
 *
 *     prompt 1 ─ response 1 ─┬─ prompt 2 ─ response 2      superseded by
 *                            └─ prompt 2, again ─ …        the newer prompt with the same parent
 *
 * Positions count the lines that were placed. Only a prompt can rewind; a prompt with an unknown parent is placed at the end.
 */

/** The role of a line in the tree: a prompt, a response, or neither (a result, a notice). */
export type LineRole = 'prompt' | 'response' | 'aside';

type Placement =
  | {
      readonly kind: 'placed';
      readonly position: number /** Lines after this position are superseded. */;
      readonly rewoundTo?: number;
    }
  | { readonly kind: 'repeated' }
  | { readonly kind: 'superseded' };

const REPEATED: Placement = { kind: 'repeated' };
const SUPERSEDED: Placement = { kind: 'superseded' };

export class Branches {
  readonly #positions = new Map<string, number>();
  /** For each unknown parent of a prompt: the position before the first such prompt. */
  readonly #promptPlaces = new Map<string, number>();
  /** Ranges of superseded positions, from (exclusive) and to (inclusive). */
  readonly #superseded: [number, number][] = [];
  #last = -1;
  #lastSpoken = -1;

  place(uuid: string | undefined, parentUuid: string | undefined, role: LineRole): Placement {
    if (uuid !== undefined && this.#positions.has(uuid)) return REPEATED;
    const parent = parentUuid === undefined ? undefined : this.#positions.get(parentUuid);
    const isSuperseded = parent !== undefined && this.#isSuperseded(parent);
    if (isSuperseded && role !== 'prompt') {
      if (uuid !== undefined) this.#positions.set(uuid, parent);
      return SUPERSEDED;
    }
    let rewoundTo: number | undefined;
    if (role === 'prompt' && parentUuid !== undefined && !isSuperseded) {
      const place = parent ?? this.#promptPlaces.get(parentUuid);
      if (place === undefined) this.#promptPlaces.set(parentUuid, this.#last);
      else if (this.#lastSpoken > place) {
        rewoundTo = place;
        this.#superseded.push([place, this.#last]);
      }
    }
    const position = ++this.#last;
    if (uuid !== undefined) this.#positions.set(uuid, position);
    if (role !== 'aside') this.#lastSpoken = position;
    return rewoundTo === undefined ? { kind: 'placed', position } : { kind: 'placed', position, rewoundTo };
  }

  /** Whether a line was placed and is not superseded. */
  isLive(uuid: string): boolean {
    const position = this.#positions.get(uuid);
    return position !== undefined && !this.#isSuperseded(position);
  }

  #isSuperseded(position: number): boolean {
    return this.#superseded.some(([from, to]) => position > from && position <= to);
  }
}
