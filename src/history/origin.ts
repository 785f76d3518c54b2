import { makesCall } from '../core/fold/asked-calls.ts';
import type { AssistantMessage, ConversationMessage, ToolMessage } from '../core/log/messages.ts';
import { isBlank } from '../formats/message-parts.ts';

/**
 * The conversation that a list of messages was made from, indexed by message id. It grows with the
 * conversation, so that checking a request costs what the request costs and not what the conversation does.
 */
export class Origin {
  readonly #messages: ConversationMessage[] = [];
  /** Almost every id stands once; the array is for the others. */
  readonly #positions = new Map<string, number | number[]>();

  constructor(messages: readonly ConversationMessage[]) {
    this.grow(messages);
  }

  get messages(): readonly ConversationMessage[] {
    return this.#messages;
  }

  /** Takes in what a conversation has grown by. */
  grow(messages: readonly ConversationMessage[]): void {
    for (let i = this.#messages.length; i < messages.length; i++) {
      const message = messages[i] as ConversationMessage;
      this.#messages.push(message);
      const known = this.#positions.get(message.id);
      if (typeof known === 'object') known.push(i);
      else this.#positions.set(message.id, known === undefined ? i : [known, i]);
    }
  }

  /** Where a message with this id stands: the first that is not `taken`, else the first; -1 when it was never recorded. */
  positionOf(message: ConversationMessage, taken?: ReadonlySet<number>): number {
    const known = this.#positions.get(message.id);
    if (known === undefined) return -1;
    if (typeof known === 'number') return known;
    const free = known.filter((position) => !taken?.has(position));
    return free.find((position) => this.messages[position] === message) ?? free[0] ?? known[0] ?? -1;
  }

  /** The message whose call the result at `position` belongs to: the nearest assistant message before it, if it made the call. */
  ownerOf(position: number): AssistantMessage | undefined {
    const result = this.messages[position];
    if (result?.role !== 'tool') return undefined;
    for (let i = position - 1; i >= 0; i--) {
      const message = this.messages[i];
      if (message?.role === 'assistant') return makesCall(message, result.toolCallId) ? message : undefined;
    }
    return undefined;
  }

  /** The recorded results of a recorded assistant message, in log order. */
  resultsOf(asking: AssistantMessage): ToolMessage[] {
    const results: ToolMessage[] = [];
    for (let i = this.positionOf(asking) + 1; i > 0 && i < this.messages.length; i++) {
      const message = this.messages[i];
      if (message?.role === 'assistant') break;
      if (message?.role === 'tool') results.push(message);
    }
    return results;
  }

  /** How many system messages the conversation starts with. */
  leadingSystem(): number {
    let count = 0;
    while (this.messages[count]?.role === 'system') count++;
    return count;
  }

  /** The position of the newest user or assistant message with content; -1 without one. */
  newestWithContent(): number {
    return this.messages.findLastIndex(
      (message) => (message.role === 'user' || message.role === 'assistant') && !isBlank(message),
    );
  }
}

/** Whether a message is a recorded one, perhaps shortened: the same role, and no call that was not made. */
export function isVersionOf(message: ConversationMessage, recorded: ConversationMessage): boolean {
  if (message === recorded) return true;
  if (message.role === 'tool') return recorded.role === 'tool' && message.toolCallId === recorded.toolCallId;
  if (message.role !== 'assistant') return message.role === recorded.role;
  if (recorded.role !== 'assistant') return false;
  const calls = recorded.toolCalls ?? [];
  let from = 0;
  for (const call of message.toolCalls ?? []) {
    const at = calls.findIndex((made, i) => i >= from && made.callId === call.callId && made.name === call.name);
    if (at < 0) return false;
    from = at + 1;
  }
  return true;
}

/** Whether a message that was never recorded may be sent: marked as a manager's own, and asking for nothing (D56). */
export function isAddition(message: ConversationMessage): boolean {
  return message.synthetic === true && (message.role !== 'assistant' || (message.toolCalls ?? []).length === 0);
}
