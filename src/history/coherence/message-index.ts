import { AskedCalls } from '../../core/fold/asked-calls.ts';
import { type ConversationMessage, callsOf, type ToolCall } from '../../core/log/messages.ts';
import { isBlank } from '../../formats/message-parts.ts';
import type { TokenEstimator } from '../estimate-tokens.ts';
import type { Preserve } from '../history-manager.ts';
import { countTokens } from '../token-counts.ts';
import type { Violation } from './coherence.ts';

/**
 * A conversation in atomic groups (D31): an assistant message and its results are one, every other message is one of its own.
 * It grows with the conversation, so that a turn costs what the turn added. A function of the messages alone: every holder
 * may grow it, and a new index of the same messages is equal.
 *
 *     messages   system  user  assistant  result  result  assistant  user  result …
 *     starts     0       1     2                          5          6
 *
 * Mostly a group is the messages from its start to the next one's. Where that is not so, `arranged` has its positions: results
 * that finished out of order, came after another message, twice, or without a call (then they are in no group).
 */
export class MessageIndex {
  readonly messages: ConversationMessage[] = [];
  readonly starts: number[] = [];
  readonly arranged: Map<number, readonly number[]> = new Map();
  /** Groups that no provider would take as they are: calls without a result, messages without content. */
  readonly flawed: Map<number, Flaw> = new Map();
  /** Results that are in no group: without a call, or the second for one. */
  readonly strays: Stray[] = [];
  /** Results that came after the result of a later call, or after another message. */
  readonly late: { readonly position: number; readonly group: number }[] = [];
  /** The groups that have results, ascending. */
  readonly withResults: number[] = [];
  /** The groups of messages that a manager added: the managers after it keep them. */
  readonly additions: number[] = [];
  /** How many system messages the conversation starts with: groups 0 to `leading - 1`. */
  leading = 0;
  /** The groups of these messages, -1 without one. */
  firstUser = -1;
  newestUser = -1;
  /** The user message that started the newest evaluation: other user messages may have joined it since (D61). */
  beganUser = -1;
  newestSystem = -1;
  #asking: AskingGroup | undefined;
  #evaluationId: string | undefined;
  readonly #sums = new WeakMap<TokenEstimator, number[]>();
  readonly #pins = new Map<string, PinnedGroups>();

  /** How many groups there are. */
  get groups(): number {
    return this.starts.length;
  }

  /** How many groups are final. The newest may get results, and so may one whose calls still wait behind newer messages. */
  get settled(): number {
    const asking = this.#asking;
    const waiting = asking && asking.resultCount < asking.calls.length ? asking.group : this.groups;
    return Math.max(0, Math.min(waiting, this.groups - 1));
  }

  /** Takes in the messages that are new. False, and nothing done, when these are not the same conversation, grown. */
  grow(messages: readonly ConversationMessage[]): boolean {
    const known = this.messages.length;
    if (known > messages.length) return false;
    if (known > 0 && (messages[0] !== this.messages[0] || messages[known - 1] !== this.messages[known - 1]))
      return false;
    for (let i = known; i < messages.length; i++) this.#add(messages[i] as ConversationMessage);
    const asking = this.#asking;
    if (asking && known < messages.length) this.#noteMissing(asking);
    return true;
  }

  /** Where the messages of a group end, as long as it is not arranged. */
  endOf(group: number): number {
    return this.starts[group + 1] ?? this.messages.length;
  }

  /** Positions of a group's messages: the assistant message first, results in call order. */
  positionsOf(group: number): readonly number[] {
    const arranged = this.arranged.get(group);
    if (arranged) return arranged;
    const positions: number[] = [];
    for (let i = this.starts[group] as number; i < this.endOf(group); i++) positions.push(i);
    return positions;
  }

  /** The group that a position falls in. */
  groupAt(position: number): number {
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.starts[middle] as number) <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Running totals of the messages' tokens: the entry at i holds all before message i. Each message is counted once. */
  tokenSums(estimator: TokenEstimator): readonly number[] {
    const sums = this.#sums.get(estimator) ?? [0];
    if (sums.length === 1) this.#sums.set(estimator, sums);
    for (let i = sums.length - 1; i < this.messages.length; i++) {
      sums.push((sums[i] as number) + countTokens(this.messages[i] as ConversationMessage, estimator));
    }
    return sums;
  }

  /**
   * The groups that every selection keeps (D31), ascending: the leading system messages, the first and the newest user message,
   * the one that started the evaluation (D61), the newest system message, the newest group, what was added, and what `preserve` names.
   */
  fixedGroups(preserve: Preserve | undefined): readonly number[] {
    const { firstUser, beganUser, newestUser, newestSystem } = this;
    const fixed: number[] = [];
    for (let group = 0; group < this.leading; group++) fixed.push(group);
    for (const group of [firstUser, beganUser, newestUser, newestSystem].sort((a, b) => a - b)) addAfter(fixed, group);
    addAfter(fixed, this.groups - 1);
    return preserve || this.additions.length > 0 ? this.#alsoPreserved(fixed, preserve ?? {}) : fixed;
  }

  #alsoPreserved(fixed: readonly number[], preserve: Preserve): readonly number[] {
    const all = new Set(fixed);
    for (const group of this.additions) all.add(group);
    for (const group of this.#pinned(preserve)) all.add(group);
    if (preserve.last) {
      const from = this.groupAt(Math.max(0, this.messages.length - preserve.last));
      for (let group = from; group < this.groups; group++) all.add(group);
    }
    return [...all].sort((a, b) => a - b);
  }

  #add(message: ConversationMessage): void {
    const position = this.messages.length;
    this.messages.push(message);
    if (message.role === 'tool') {
      this.#addResult(message.toolCallId, position);
      return;
    }
    const group = this.starts.length;
    if (message.role === 'assistant') {
      if (this.#asking) this.#noteMissing(this.#asking);
      this.#asking = new AskingGroup(callsOf(message), group, position);
    } else if (message.role === 'user') {
      if (!message.synthetic) {
        if (this.firstUser < 0) this.firstUser = group;
        if (message.evaluationId !== this.#evaluationId) this.beganUser = group;
        this.#evaluationId = message.evaluationId;
        this.newestUser = group;
      }
    } else {
      if (this.leading === group) this.leading++;
      this.newestSystem = group;
    }
    this.starts.push(position);
    if (message.synthetic) this.additions.push(group);
    if (isBlank(message)) this.flawed.set(group, EMPTY);
  }

  #addResult(callId: string, position: number): void {
    const last = this.starts.length - 1;
    const asking = this.#asking;
    const group = asking?.group ?? -1;
    const known = asking?.results.length ?? 0;
    const call = asking?.addResult(callId, position) ?? -1;
    if (call < 0) this.strays.push({ position, group: last, again: asking?.has(callId) ?? false });
    else {
      if (asking?.resultCount === 1) this.withResults.push(group);
      // Nearly always the next result of the newest group.
      if (asking?.resultCount === call + 1 && call === known && group === last && !this.arranged.has(group)) return;
      if (group !== last || call < known) this.late.push({ position, group });
    }
    if (asking) this.arranged.set(group, [asking.position, ...asking.inOrder()]);
    // The result stands behind a message of another group, which must not take it along.
    if (last >= 0 && group !== last) this.arranged.set(last, [this.starts[last] as number]);
  }

  #noteMissing(asking: AskingGroup): void {
    if (asking.resultCount === asking.calls.length) {
      if (this.flawed.get(asking.group) !== EMPTY) this.flawed.delete(asking.group);
    } else {
      this.flawed.set(asking.group, { kind: 'open', missing: asking.missing() });
    }
  }

  #pinned(preserve: Preserve): readonly number[] {
    const { messages = [], tools = [] } = preserve;
    if (messages.length === 0 && tools.length === 0) return NONE;
    const key = JSON.stringify([messages, tools]);
    const pins = this.#pins.get(key) ?? { ids: new Set(messages), tools: new Set(tools), next: 0, groups: [] };
    this.#pins.set(key, pins);
    const { settled } = this;
    for (; pins.next < settled; pins.next++) if (this.#isPinned(pins.next, pins)) pins.groups.push(pins.next);
    const waiting: number[] = [];
    for (let group = settled; group < this.groups - 1; group++) if (this.#isPinned(group, pins)) waiting.push(group);
    return waiting.length === 0 ? pins.groups : [...pins.groups, ...waiting];
  }

  #isPinned(group: number, { ids, tools }: PinnedGroups): boolean {
    return this.positionsOf(group).some((position) => {
      const message = this.messages[position] as ConversationMessage;
      return ids.has(message.id) || callsOf(message).some((call) => tools.has(call.name));
    });
  }
}

/** Why a group cannot be sent as it is. */
type Flaw = { readonly kind: 'empty' } | { readonly kind: 'open'; readonly missing: readonly ToolCall[] };

/** A result without a call. */
interface Stray {
  readonly position: number;
  /** The group that it stands behind, -1 before the first. */
  readonly group: number;
  /** Its call had a result already. */
  readonly again: boolean;
}

const EMPTY: Flaw = { kind: 'empty' };
const NONE: readonly number[] = [];

/** The newest assistant message, with the positions of its results. */
class AskingGroup extends AskedCalls<number> {
  readonly group: number;
  readonly position: number;

  constructor(calls: readonly ToolCall[], group: number, position: number) {
    super(calls);
    this.group = group;
    this.position = position;
  }
}

/** Adds a group that comes after those that are there. */
function addAfter(groups: number[], group: number): void {
  const last = groups[groups.length - 1] ?? -1;
  if (group > last) groups.push(group);
}

interface PinnedGroups {
  readonly ids: ReadonlySet<string>;
  readonly tools: ReadonlySet<string>;
  /** The first group that was not looked at. */
  next: number;
  readonly groups: number[];
}

/** A violation of pairing, and the group of the index that it concerns: -1 for a result that comes before every group. */
interface PairingViolation extends Violation {
  readonly group: number;
}

/**
 * The calls without a result, results without a call, results out of order and empty messages of a conversation. The index finds
 * them as it grows, so that a check of a list and the repairs of a request name the same violations.
 */
export function pairingViolations(index: MessageIndex): readonly PairingViolation[] {
  const { flawed, strays, late, messages, starts } = index;
  const violations: PairingViolation[] = [];
  for (const { position, group, again } of strays) {
    const repair = again ? 'the first result stays, this one is left out' : 'the result is left out';
    const code = again ? 'duplicate-result' : 'result-without-call';
    violations.push({ code, index: position, group, ...callOf(messages[position]), repair });
  }
  for (const { position, group } of late) {
    const repair = 'the result is moved behind its call, in call order';
    violations.push({ code: 'result-out-of-order', index: position, group, ...callOf(messages[position]), repair });
  }
  for (const [group, flaw] of flawed) {
    const position = starts[group] as number;
    if (flaw.kind === 'empty') {
      violations.push({ code: 'empty-content', index: position, group, repair: 'the empty message is left out' });
      continue;
    }
    const repair = 'a placeholder takes the place of its result, or says that none was recorded';
    for (const { callId } of flaw.missing) {
      violations.push({ code: 'call-without-result', index: position, group, callId, repair });
    }
  }
  return violations;
}

function callOf(result: ConversationMessage | undefined): { readonly callId?: string } {
  return result?.role === 'tool' ? { callId: result.toolCallId } : {};
}
