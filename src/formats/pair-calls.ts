import {
  type AssistantMessage,
  type CallRef,
  type ConversationMessage,
  callKey,
  callsOf,
  type ToolMessage,
} from '../core/messages.ts';
import type { FormatOptions } from './losses.ts';
import { NO_RESULT } from './placeholders.ts';

/**
 * Calls with their results. Every API wants each call followed by its result, in call order, before any other message; a log may
 * hold results that came late, twice, without a call, or not at all.
 */

/** Results by the assistant message that they belong to, or else by the identity of their call (D11). */
export class CallResults {
  readonly #byOwner = new Map<unknown, ToolMessage[]>();
  readonly #strays = new Map<string, ToolMessage[]>();

  /** Adds a result; `owner` identifies the assistant message whose call it belongs to, if that is known. */
  add(result: ToolMessage, owner: unknown): void {
    if (owner !== undefined) push(this.#byOwner, owner, result);
    else push(this.#strays, keyOf(result, result.toolCallId), result);
  }

  /** The results that belong to a message and were not taken. */
  ownedBy(owner: unknown): readonly ToolMessage[] {
    return this.#byOwner.get(owner) ?? [];
  }

  /** Takes the first result of a call. */
  take(owner: unknown, message: AssistantMessage, callId: string): ToolMessage | undefined {
    return takeFrom(this.#byOwner.get(owner), callId) ?? takeFrom(this.#strays.get(keyOf(message, callId)), callId);
  }

  /** The results that no call took. */
  left(): readonly ToolMessage[] {
    return [...this.#byOwner.values(), ...this.#strays.values()].flat();
  }
}

/** Whether an assistant message makes this call. */
export function asks(message: AssistantMessage, callId: string): boolean {
  return callsOf(message).some((call) => call.callId === callId);
}

/**
 * The messages with one result for each call, directly after the message that made it, in call order. A missing result becomes a
 * placeholder; results without a call are left out.
 */
export function pairCalls(
  messages: readonly ConversationMessage[],
  { onLoss }: FormatOptions = {},
): readonly ConversationMessage[] {
  const results = new CallResults();
  let nearest: AssistantMessage | undefined;
  let asked: ReadonlySet<string> = new Set();
  for (const message of messages) {
    if (message.role === 'assistant') {
      nearest = message;
      asked = new Set(callsOf(message).map(({ callId }) => callId));
    } else if (message.role === 'tool') results.add(message, asked.has(message.toolCallId) ? nearest : undefined);
  }
  const paired = messages.flatMap((message): readonly ConversationMessage[] => {
    if (message.role === 'tool') return [];
    if (message.role !== 'assistant') return [message];
    const found = callsOf(message).map((call) => {
      const result = results.take(message, message, call.callId);
      if (!result) onLoss?.({ what: 'missing result', why: `"${NO_RESULT}" stands in its place`, id: call.callId });
      return result ?? missingResult(message, call);
    });
    return [message, ...found];
  });
  for (const { toolCallId: id } of results.left()) {
    onLoss?.({ what: 'tool result', why: 'its call is not in the conversation, or has a result', id });
  }
  return paired;
}

const missing = new WeakMap<AssistantMessage, Map<string, ToolMessage>>();

/** A result for a call that has none; its text says so. Returns the same object each time. */
export function missingResult(
  asking: AssistantMessage,
  call: { readonly callId: string; readonly name: string },
): ToolMessage {
  const known = missing.get(asking)?.get(call.callId);
  if (known) return known;
  const { evaluationId, conversationId, sequence, turn, promptNs, promptKey, createdAt } = asking;
  const result: ToolMessage = {
    id: `${asking.id}/${call.callId}`,
    role: 'tool',
    synthetic: true,
    toolCallId: call.callId,
    toolName: call.name,
    content: [{ type: 'text', text: NO_RESULT }],
    isError: true,
    ...{ evaluationId, conversationId, sequence, turn, promptNs, promptKey, createdAt },
  };
  const results = missing.get(asking) ?? new Map<string, ToolMessage>();
  missing.set(asking, results.set(call.callId, result));
  return result;
}

function keyOf(message: Omit<CallRef, 'callId'>, callId: string): string {
  return callKey({ evaluationId: message.evaluationId, turn: message.turn, callId });
}

function push<K>(map: Map<K, ToolMessage[]>, key: K, value: ToolMessage): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

function takeFrom(results: ToolMessage[] | undefined, callId: string): ToolMessage | undefined {
  const at = results?.findIndex((result) => result.toolCallId === callId) ?? -1;
  return at < 0 ? undefined : results?.splice(at, 1)[0];
}
