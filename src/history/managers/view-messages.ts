import type { ConversationMessage } from '../../core/log/messages.ts';
import { pairCalls } from '../../formats/pair-calls.ts';
import type { Violation } from '../coherence/coherence.ts';
import { pairingViolations } from '../coherence/message-index.ts';
import type { TokenEstimator } from '../estimate-tokens.ts';
import { TokenCounter } from '../token-counts.ts';
import { at, contains, type Shape, type View } from './view.ts';

/** The output of a view: its messages, the repairs that they need to be sent, and their tokens. */

/** A change that a request needed before it could be sent. */
export interface Repair {
  readonly code:
    | Violation['code']
    | 'newest-lost'
    | 'opening-lost'
    | 'pinned-lost'
    | 'reasoning-lost'
    | 'manager-failed'
    | 'over-budget';
  readonly repair: string;
  readonly messageId?: string;
  readonly callId?: string;
}

/** A group's messages as they would be sent, or as they are recorded. */
export function messagesOf(view: View, group: number, toSend = false): readonly ConversationMessage[] {
  const { index, shape } = view;
  const flaw = toSend ? index.flawed.get(group) : undefined;
  if (flaw?.kind === 'empty') return [];
  const recorded = index.positionsOf(group).map((position) => index.messages[position] as ConversationMessage);
  const messages = flaw ? pairCalls(recorded) : recorded;
  return shape ? messages.map((message) => shape(message, group)) : messages;
}

/**
 * The messages of a view. To be sent (`toSend`), every call gets a result and empty messages and strays are left out; otherwise
 * they come as they were recorded. Undefined when `current` no longer holds the messages that were indexed.
 */
export function emit(
  view: View,
  current: readonly ConversationMessage[],
  toSend: boolean,
): ConversationMessage[] | undefined {
  const { index, shape } = view;
  const raw = view.whole && !toSend;
  const straight = raw || (index.arranged.size === 0 && (!toSend || index.flawed.size === 0));
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
      for (let group = first; group < last; group++) {
        // A late result stands outside the piece.
        if (index.arranged.get(group)?.some((position) => current[position] !== index.messages[position]))
          return undefined;
        for (const message of messagesOf(view, group, toSend)) result.push(message);
      }
    } else if (shape) emitShaped(view, shape, from, to, result);
    else result = joined(result, current, from, to);
  }
  return result;
}

/** `head` and the messages from `from` to `to`: one copy, taken a little earlier and overwritten, instead of two. */
function joined(
  head: ConversationMessage[],
  messages: readonly ConversationMessage[],
  from: number,
  to: number,
): ConversationMessage[] {
  if (head.length > from) return head.concat(messages.slice(from, to));
  const result = messages.slice(from - head.length, to);
  for (let i = 0; i < head.length; i++) result[i] = head[i] as ConversationMessage;
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

/** What `emit` repairs in the groups of a view. Results that finished out of order are no fault of the record. */
export function repairsIn(view: View): readonly Repair[] {
  const { index } = view;
  if (index.flawed.size === 0 && index.strays.length === 0) return NO_REPAIRS;
  return pairingViolations(index).flatMap(({ code, index: position, group, callId, repair }): readonly Repair[] => {
    if (code === 'result-out-of-order' || !(view.whole || contains(view, group))) return [];
    const messageId = index.messages[position]?.id ?? '';
    return [{ code, repair, messageId, ...(callId !== undefined && { callId }) }];
  });
}

const NO_REPAIRS: readonly Repair[] = [];

/** The messages at a place in the view. */
export function messagesAt(view: View, rank: number, toSend = false): readonly ConversationMessage[] {
  const place = at(view, rank);
  if (!place) return [];
  return 'added' in place ? [place.added] : messagesOf(view, place.group, toSend);
}

/** The tokens of one group in the view. */
export function groupTokens(view: View, group: number, estimator: TokenEstimator): number {
  const { index } = view;
  // The messages from its start to its end, with nothing to repair.
  if (!view.shape && !index.arranged.has(group) && !index.flawed.has(group)) {
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
