import type { ConversationMessage, ToolMessage } from '../core/messages.ts';
import { missingResult, type Violation } from './coherence.ts';
import type { TokenEstimator } from './estimate-tokens.ts';
import type { MessageIndex } from './message-index.ts';
import { TokenCounter } from './token-counts.ts';

/**
 * What one built-in manager hands to the next: which groups of an indexed conversation are still in, which messages were
 * added, and how messages are shortened on their way out. Nothing is copied until the end, so a composition over a long
 * conversation costs what comes out of it.
 */
export interface View {
  readonly index: MessageIndex;
  /** Nothing was dropped: also messages that are in no group are in. */
  readonly whole: boolean;
  /** Groups that are settled are as they were the last time this index was looked at: folds may go on from there. */
  readonly stable: boolean;
  /** Ascending and disjoint. */
  readonly pieces: readonly Piece[];
  /** How many groups and added messages are in. */
  readonly count: number;
  readonly shape: Shape | undefined;
}

/** The groups from `from` up to, not including, `to`; or a message that was added before group `from`. */
export interface Piece {
  readonly from: number;
  readonly to: number;
  readonly added: ConversationMessage | undefined;
}

/** How a message is sent: itself, or a shorter version, the same object each time. */
export type Shape = (message: ConversationMessage, group: number) => ConversationMessage;

/** What had to be changed in a request before it could be sent, and in whose answer. */
export interface Repair {
  readonly code: Violation['code'] | 'newest-lost' | 'pinned-lost' | 'manager-failed' | 'over-budget';
  readonly repair: string;
  readonly messageId?: string;
  readonly callId?: string;
}

/** Everything there is. */
export function wholeView(index: MessageIndex): View {
  const { groups } = index;
  const pieces = [{ from: 0, to: groups, added: undefined }];
  return { index, whole: true, stable: true, pieces, count: groups, shape: undefined };
}

/** The view without the groups before `start` (counted in the view), but for those that always stay and what was added. */
export function dropBefore(view: View, start: number, fixed: readonly number[]): View {
  if (start <= 0) return view;
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
  return builder.count === view.count ? view : builder.view(view);
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
  return builder.count === view.count ? view : builder.view(view);
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

/** The messages at a place in the view. */
export function messagesAt(view: View, rank: number, mend = false): readonly ConversationMessage[] {
  const place = at(view, rank);
  if (!place) return [];
  return 'added' in place ? [place.added] : messagesOf(view, place.group, mend);
}

/** A group's messages as they would be sent, or as they are recorded. */
export function messagesOf(view: View, group: number, mend = false): readonly ConversationMessage[] {
  const { index, shape } = view;
  const flaw = mend ? index.flawed.get(group) : undefined;
  if (flaw?.kind === 'empty') return [];
  const messages = index.positionsOf(group).map((position) => index.messages[position] as ConversationMessage);
  const shaped = shape ? messages.map((message) => shape(message, group)) : messages;
  const [asking] = messages;
  if (!flaw || asking?.role !== 'assistant') return shaped;
  const results = shaped.slice(1) as ToolMessage[];
  const completed = (asking.toolCalls ?? []).flatMap((call) => {
    if (call.providerExecuted !== undefined) return [];
    if (flaw.missing.includes(call)) return missingResult(asking, call);
    const at = results.findIndex((result) => result.toolCallId === call.callId);
    return at < 0 ? [] : results.splice(at, 1);
  });
  return [shaped[0] as ConversationMessage, ...completed];
}

/**
 * The messages of a view. To be sent (`mend`), every call gets a result and empty messages and strays are left out; otherwise
 * they come as they were recorded. Undefined when `current` no longer holds the messages that were indexed.
 */
export function emit(
  view: View,
  current: readonly ConversationMessage[],
  mend: boolean,
): ConversationMessage[] | undefined {
  const { index, shape } = view;
  const raw = view.whole && !mend;
  const straight = raw || (index.arranged.size === 0 && (!mend || index.flawed.size === 0));
  let result: ConversationMessage[] = [];
  for (const { from: first, to: last, added } of view.pieces) {
    if (added) {
      result.push(added);
      continue;
    }
    const from = raw ? 0 : index.starts[first];
    if (from === undefined) continue;
    const to = last < index.groups ? (index.starts[last] as number) : index.messages.length;
    for (let i = from; i < to; i++) if (current[i] !== index.messages[i]) return undefined;
    if (!straight) {
      for (let group = first; group < last; group++)
        for (const message of messagesOf(view, group, mend)) result.push(message);
    } else if (shape) emitShaped(view, shape, from, to, result);
    else if (to - from < 8) for (let i = from; i < to; i++) result.push(current[i] as ConversationMessage);
    else result = result.length === 0 ? current.slice(from, to) : result.concat(current.slice(from, to));
  }
  return result;
}

function emitShaped(view: View, shape: Shape, from: number, to: number, result: ConversationMessage[]): void {
  const { index } = view;
  let group = index.groupAt(from);
  for (let i = from; i < to; i++) {
    while (i >= index.endOf(group)) group++;
    result.push(shape(index.messages[i] as ConversationMessage, group));
  }
}

/** Whether a group is the messages from its start to its end, nothing to mend. */
function isPlain(index: MessageIndex, group: number, mend: boolean): boolean {
  return !index.arranged.has(group) && !(mend && index.flawed.has(group));
}

/** What `emit` mends in the groups of a view. */
export function repairsIn(view: View): readonly Repair[] {
  const { flawed, strays, messages, starts } = view.index;
  if (flawed.size === 0 && strays.length === 0) return NO_REPAIRS;
  const repairs: Repair[] = [];
  for (const { position, group, again } of strays) {
    const result = messages[position];
    if (result?.role !== 'tool' || (!view.whole && !contains(view, group))) continue;
    const code = again ? 'duplicate-result' : 'result-without-call';
    repairs.push({ code, messageId: result.id, callId: result.toolCallId, repair: 'the result is left out' });
  }
  for (const [group, flaw] of flawed) {
    if (!contains(view, group)) continue;
    const messageId = messages[starts[group] as number]?.id ?? '';
    if (flaw.kind === 'empty')
      repairs.push({ code: 'empty-content', messageId, repair: 'the empty message is left out' });
    else {
      for (const { callId } of flaw.missing) {
        const repair = 'no result was recorded: one that says so is added';
        repairs.push({ code: 'call-without-result', messageId, callId, repair });
      }
    }
  }
  return repairs;
}

const NO_REPAIRS: readonly Repair[] = [];

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
    else if (index.arranged.size === 0)
      count += (to > from ? index.endOf(to - 1) : 0) - (to > from ? (index.starts[from] as number) : 0);
    else for (let group = from; group < to; group++) count += index.positionsOf(group).length;
  }
  return count;
}

/** The tokens of one group in the view. */
export function groupTokens(view: View, group: number, estimator: TokenEstimator): number {
  const { index } = view;
  if (!view.shape && isPlain(index, group, true)) {
    const sums = index.tokenSums(estimator);
    return (sums[index.endOf(group)] as number) - (sums[index.starts[group] as number] as number);
  }
  const counter = TokenCounter.of(estimator);
  return messagesOf(view, group, true).reduce((sum, message) => sum + counter.count(message), 0);
}

/** The tokens of everything in the view, as it would be sent. */
export function viewTokens(view: View, estimator: TokenEstimator): number {
  const { index } = view;
  const straight = !view.shape && index.arranged.size === 0 && index.flawed.size === 0;
  let tokens = 0;
  for (const piece of view.pieces) {
    if (piece.added) tokens += TokenCounter.of(estimator).count(piece.added);
    else if (straight && piece.to > piece.from) {
      const sums = index.tokenSums(estimator);
      const to = piece.to < index.groups ? (index.starts[piece.to] as number) : index.messages.length;
      tokens += (sums[to] as number) - (sums[index.starts[piece.from] as number] as number);
    } else for (let group = piece.from; group < piece.to; group++) tokens += groupTokens(view, group, estimator);
  }
  return tokens;
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
