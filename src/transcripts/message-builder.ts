/**
 * Builds messages that a provider accepts from a transcript that may end anywhere: every call is followed by its result, in the order
 * of the calls, before the next message.
 *
 *     assistant (all its lines, one message) ─▶ results in call order ─▶ what the user typed meanwhile
 *
 * A call without a result gets `NO_RESULT`.
 */
import type {
  AssistantMessage,
  ConversationMessage,
  MediaPart,
  ReasoningPart,
  TextPart,
  ToolCall,
  UserMessage,
} from '../core/messages.ts';
import { ImportedMessages, type ImportOptions } from '../formats/imported-messages.ts';
import { hasContent } from '../formats/message-parts.ts';
import { NO_RESULT } from '../formats/placeholders.ts';

/** The identity of imported messages, and where they start. */
export interface ImportedMessagesOptions {
  readonly evaluationId?: string;
  readonly conversationId?: string;
  readonly promptNs?: string;
  readonly promptKey?: string;
  /**
   * Where the messages start: at the first one, or at the agent's newest summary, from which the agent itself would continue.
   * Default: `start`.
   */
  readonly from?: 'start' | 'compaction';
}

/** The result of a call that has none. */
export const NO_RESULT = 'No result was recorded: the session ended before this call did. Its outcome is unknown.';

type AssistantPart = AssistantMessage['content'][number];
type UserPart = UserMessage['content'][number];
type ResultPart = TextPart | MediaPart;

interface Result {
  readonly id: string;
  readonly createdAt: string;
  readonly content: readonly ResultPart[];
  readonly isError: boolean;
}

interface OpenResponse {
  readonly id: string;
  readonly createdAt: string;
  readonly parts: AssistantPart[];
  readonly calls: { readonly call: ToolCall; readonly partsBefore: number; result?: Result }[];
}

export class MessageBuilder {
  readonly #imported: ImportedMessages;
  readonly #ids = new Set<string>();
  #response: OpenResponse | undefined;
  /** The user's messages that arrived while calls were open. */
  #waiting: { readonly id: string; readonly createdAt: string; readonly content: readonly UserPart[] }[] = [];

  constructor({ from: _, ...options }: ImportedMessagesOptions) {
    this.#imported = new ImportedMessages({ promptNs: 'import', promptKey: 'transcript', ...options });
  }

  user(id: string, createdAt: string, content: readonly UserPart[]): void {
    if (!content.some(hasContent)) return;
    this.#waiting.push({ id, createdAt, content });
    if (!this.#response?.calls.some(isOpen)) this.#close();
  }

  /** Adds a part to the assistant's message with this id. */
  say(messageId: string, createdAt: string, part: AssistantPart): void {
    this.#responseOf(messageId, createdAt).parts.push(part);
  }

  /** Adds a call to the assistant's message with this id. */
  call(messageId: string, createdAt: string, call: ToolCall): void {
    const response = this.#responseOf(messageId, createdAt);
    if (response.calls.some((known) => known.call.callId === call.callId)) return;
    response.calls.push({ call, partsBefore: response.parts.length });
  }

  /** Adds the result of a call; a result without an open call is dropped. */
  result(callId: string, result: Result): void {
    const asked = this.#response?.calls.find((known) => known.call.callId === callId && isOpen(known));
    if (asked) asked.result = result;
  }

  /** Adds the result of a call that the provider itself ran. */
  provided(callId: string, result: unknown): void {
    const calls = this.#response?.calls ?? [];
    const index = calls.findIndex(({ call }) => call.callId === callId && call.providerExecuted !== undefined);
    const asked = calls[index];
    if (asked) calls[index] = { ...asked, call };
  }

  finish(): readonly ConversationMessage[] {
    this.#close();
    return this.#imported.messages;
  }

  #responseOf(id: string, createdAt: string): OpenResponse {
    if (this.#response?.id === id) return this.#response;
    this.#close();
    this.#response = { id, createdAt, parts: [], calls: [] };
    return this.#response;
  }

  /** Writes the open response, its results, and the messages that waited for them. */
  #close(): void {
    const response = this.#response;
    const waiting = this.#waiting;
    this.#response = undefined;
    this.#waiting = [];
    if (response) this.#writeResponse(response);
    for (const { id, createdAt, content } of waiting) {
      this.#imported.push({ id: this.#unique(id), createdAt, role: 'user', content });
    }
  }

  #writeResponse({ id, createdAt, parts, calls }: OpenResponse): void {
    // Providers reject blank texts, and responses that hold nothing but reasoning.
    const isKept = (part: AssistantPart): boolean => part.type !== 'text' || /\S/.test(part.text);
    const content = parts.filter(isKept);
    if (calls.length === 0 && content.every((part) => part.type === 'reasoning')) return;
    const toolCalls = calls.map(({ call, partsBefore }): ToolCall => {
      const after = parts.slice(0, partsBefore).filter(hasContent).length;
      return after === content.length ? call : { ...call, after };
    });
    this.#imported.push({
      ...{ id: this.#unique(id), createdAt, providerMessageId: id, role: 'assistant', content },
      ...(toolCalls.length > 0 && { toolCalls }),
    });
    for (const { call, result } of calls) {
      if (call.providerExecuted) continue;
      const { callId, name } = call;
      this.#imported.push({
        id: this.#unique(result?.id ?? `${id}/${callId}`),
        createdAt: result?.createdAt ?? createdAt,
        role: 'tool',
        toolCallId: callId,
        toolName: name,
        content: result?.content ?? [{ type: 'text', text: NO_RESULT }],
        isError: result?.isError ?? true,
      });
    }
  }

  #unique(id: string): string {
    let unique = id;
    for (let n = 2; this.#ids.has(unique); n++) unique = `${id}#${n}`;
    this.#ids.add(unique);
    return unique;
  }
}

function isOpen(asked: OpenResponse['calls'][number]): boolean {
  return asked.result === undefined && asked.call.providerExecuted === undefined;
}

/** A reasoning part with the data that its provider expects back. */
export function reasoning(
  text: string,
  from: {
    readonly provider: string;
    readonly model: string | undefined;
    readonly data?: Readonly<Record<string, unknown>>;
  },
  signature?: string,
  redacted?: string,
): ReasoningPart {
  const { provider = '' } = thought;
  return { ...thought, providerData: { provider, ...(model !== undefined && { model }), data } };
}
