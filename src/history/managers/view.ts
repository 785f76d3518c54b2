import type { ConversationMessage } from '../../core/log/messages.ts';
import type { MessageIndex } from '../coherence/message-index.ts';

/**
 * What one built-in manager hands to the next: which groups of an indexed conversation are still in, which messages were
 * added, and how messages are shortened on their way out. Nothing is copied until the end, so a composition over a long
 * conversation costs what comes out of it.
 */
export interface View {
  readonly index: MessageIndex;
  /** Nothing was dropped: also messages that are in no group are in. */
  readonly whole: boolean;
  /** Settled groups have not changed since this index was read last: folds may continue from there. */
  readonly stable: boolean;
  /** Ascending and disjoint. */
  readonly pieces: readonly Piece[];
  /** How many groups and added messages are in. */
  readonly count: number;
  readonly shape: Shape | undefined;
}

/** The groups from `from` up to, not including, `to`; or a message that was added before group `from`. */
interface Piece {
  readonly from: number;
  readonly to: number;
  readonly added: ConversationMessage | undefined;
}

/** How a message is sent: itself, or a shorter version, the same object each time. */
export type Shape = (message: ConversationMessage, group: number) => ConversationMessage;

/** Everything there is. */
export function wholeView(index: MessageIndex): View {
  const { groups } = index;
  const pieces = [{ from: 0, to: groups, added: undefined }];
  return { index, whole: true, stable: true, pieces, count: groups, shape: undefined };
}

/** The view without the groups before `start` (counted in the view), but for those that always stay and what was added. */
export function dropBefore(view: View, start: number, fixed: readonly number[]): View {
  if (start <= 0) return inGroups(view);
  const builder = new PieceList();
  let rank = 0;
  let next = 0;
  for (const piece of view.pieces) {
    if (piece.added) {
      builder.add(piece);
      rank++;
      continue;
    }
    const from = Math.min(piece.to, Math.max(piece.from, piece.from + start - rank));
    while (next < fixed.length && (fixed[next] as number) < piece.from) next++;
    for (; next < fixed.length && (fixed[next] as number) < from; next++) builder.keep(fixed[next] as number);
    if (from < piece.to) builder.keepAll(from, piece.to);
    rank += piece.to - piece.from;
  }
  return builder.count === view.count ? inGroups(view) : builder.view(view);
}

/** The view without what is in no group: a manager that keeps groups keeps nothing else. */
function inGroups(view: View): View {
  return view.whole && view.index.strays.length > 0 ? { ...view, whole: false } : view;
}

/** The view with only these groups, which come ascending, and what was added. */
export function keepOnly(view: View, groups: readonly number[]): View {
  const builder = new PieceList();
  let next = 0;
  for (const piece of view.pieces) {
    if (piece.added) builder.add(piece);
    while (next < groups.length && (groups[next] as number) < piece.from) next++;
    for (; next < groups.length && (groups[next] as number) < piece.to; next++) builder.keep(groups[next] as number);
  }
  return builder.count === view.count ? inGroups(view) : builder.view(view);
}

/** The view with a message added at a place: before whatever is the `rank`th in it now. */
export function addAt(view: View, rank: number, message: ConversationMessage): View {
  const builder = new PieceList();
  let before = 0;
  for (const piece of view.pieces) {
    const size = sizeOf(piece);
    const at = rank - before;
    if (at >= 0 && at < size) {
      builder.keepAll(piece.from, piece.from + at);
      builder.add({ from: piece.from + at, to: piece.from + at, added: message });
      if (piece.added) builder.add(piece);
      else builder.keepAll(piece.from + at, piece.to);
    } else if (piece.added) builder.add(piece);
    else builder.keepAll(piece.from, piece.to);
    before += size;
  }
  if (rank >= before) builder.add({ from: view.index.groups, to: view.index.groups, added: message });
  return builder.view(view);
}

function sizeOf({ from, to, added }: Piece): number {
  return added ? 1 : to - from;
}

/** The view with messages shortened on their way out, after whatever shortens them already. */
export function reshape(view: View, shape: Shape, stable: boolean): View {
  const before = view.shape;
  const both: Shape = before ? (message, group) => shape(before(message, group), group) : shape;
  return { ...view, shape: both, stable: view.stable && stable };
}

/** The newest group in the view, -1 without one. */
export function newestGroup(view: View): number {
  for (let i = view.pieces.length - 1; i >= 0; i--) {
    const piece = view.pieces[i] as Piece;
    if (!piece.added && piece.to > piece.from) return piece.to - 1;
  }
  return -1;
}

/** What stands at a place in the view: a group, or a message that was added; undefined past the end. */
export function at(
  view: View,
  rank: number,
): { readonly group: number } | { readonly added: ConversationMessage } | undefined {
  let before = 0;
  for (const piece of view.pieces) {
    const size = sizeOf(piece);
    if (rank < before + size) return piece.added ? { added: piece.added } : { group: piece.from + rank - before };
    before += size;
  }
  return undefined;
}

/** Whether a group is in the view. */
export function contains(view: View, group: number): boolean {
  return view.pieces.some((piece) => group >= piece.from && group < piece.to);
}

/** How many messages are in the view, as recorded. */
export function messageCount(view: View): number {
  const { index } = view;
  if (view.whole) return index.messages.length;
  let count = 0;
  for (const { from, to, added } of view.pieces) {
    if (added) count++;
    for (let group = from; group < to; group++) count += index.positionsOf(group).length;
  }
  return count;
}

/** Builds pieces in order, joining those that touch. */
class PieceList {
  readonly #pieces: Piece[] = [];
  count = 0;

  add(piece: Piece): void {
    this.#pieces.push(piece);
    this.count++;
  }

  keep(group: number): void {
    this.keepAll(group, group + 1);
  }

  keepAll(from: number, to: number): void {
    if (to <= from) return;
    this.count += to - from;
    const last = this.#pieces.at(-1);
    if (last && !last.added && last.to === from) {
      this.#pieces[this.#pieces.length - 1] = { from: last.from, to, added: undefined };
    } else this.#pieces.push({ from, to, added: undefined });
  }

  view(before: View): View {
    const { index, shape } = before;
    return { index, whole: false, stable: false, pieces: this.#pieces, count: this.count, shape };
  }
}
