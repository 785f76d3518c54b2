/**
 * Messages that a provider can read, out of a transcript that may be broken off anywhere: every call is followed by its result, in
 * the order of the calls, before anything else is said.
 *
 *     assistant (its lines, one message) ─▶ results as they came ─▶ what the user typed meanwhile
 *
 * A call that never got a result gets one that says so.
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

/** The fields of imported messages that only our log has, and where to start. */
export interface ImportedMessagesOptions extends Omit<ImportOptions, 'createdAt'> {
  /**
   * Where to start: at the first message, or at the newest summary that the agent made, from which the agent itself would continue.
   * Default: `start`.
   */
  readonly from?: 'start' | 'compaction';
}

type AssistantPart = AssistantMessage['content'][number];
type UserPart = UserMessage['content'][number];
type ResultPart = TextPart | MediaPart;

interface Result {
  readonly id: string;
  readonly createdAt: string;
  readonly content: readonly ResultPart[];
  readonly isError: boolean;
}

interface Answer {
  readonly id: string;
  readonly createdAt: string;
  readonly parts: AssistantPart[];
  readonly calls: { readonly call: ToolCall; readonly partsBefore: number; result?: Result }[];
}

export class MessageBuilder {
  readonly #imported: ImportedMessages;
  readonly #ids = new Set<string>();
  #answer: Answer | undefined;
  /** What the user said while calls were open. */
  #waiting: { readonly id: string; readonly createdAt: string; readonly content: readonly UserPart[] }[] = [];

  constructor({ from: _, ...options }: ImportedMessagesOptions) {
    this.#imported = new ImportedMessages({ promptNs: 'import', promptKey: 'transcript', ...options });
  }

  user(id: string, createdAt: string, content: readonly UserPart[]): void {
    if (!content.some(hasContent)) return;
    this.#waiting.push({ id, createdAt, content });
    if (!this.#answer?.calls.some(isOpen)) this.#close();
  }

  /** A part of the assistant's message with this id. */
  say(messageId: string, createdAt: string, part: AssistantPart): void {
    this.#answerOf(messageId, createdAt).parts.push(part);
  }

  /** A call of the assistant's message with this id. */
  call(messageId: string, createdAt: string, call: ToolCall): void {
    const answer = this.#answerOf(messageId, createdAt);
    if (answer.calls.some((known) => known.call.callId === call.callId)) return;
    answer.calls.push({ call, partsBefore: answer.parts.length });
  }

  /** What came of a call; a result that no open call waits for is left out. */
  result(callId: string, result: Result): void {
    const asked = this.#answer?.calls.find((known) => known.call.callId === callId && isOpen(known));
    if (asked) asked.result = result;
  }

  /** A call that the provider ran, now with its result. */
  provided(call: ToolCall): void {
    const calls = this.#answer?.calls ?? [];
    const index = calls.findIndex(
      ({ call: { callId, providerExecuted } }) => callId === call.callId && providerExecuted,
    );
    const asked = calls[index];
    if (asked) calls[index] = { ...asked, call };
  }

  finish(): readonly ConversationMessage[] {
    this.#close();
    return this.#imported.messages;
  }

  #answerOf(id: string, createdAt: string): Answer {
    if (this.#answer?.id === id) return this.#answer;
    this.#close();
    this.#answer = { id, createdAt, parts: [], calls: [] };
    return this.#answer;
  }

  /** Writes the open response, its results, and the messages that waited for them. */
  #close(): void {
    const answer = this.#answer;
    const waiting = this.#waiting;
    this.#answer = undefined;
    this.#waiting = [];
    if (answer) this.#writeAnswer(answer);
    for (const { id, createdAt, content } of waiting) {
      this.#imported.push({ id: this.#unique(id), createdAt, role: 'user', content });
    }
  }

  #writeAnswer({ id, createdAt, parts, calls }: Answer): void {
    // Blank texts say nothing and are refused by providers; so is a thought that led to nothing.
    const content = parts.filter(hasContent);
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

function isOpen(asked: Answer['calls'][number]): boolean {
  return asked.result === undefined && asked.call.providerExecuted === undefined;
}

/** A thought with the data that its provider wants back, for the model that wrote it. */
export function fromModel(
  thought: ReasoningPart,
  model: string | undefined,
  data: Readonly<Record<string, unknown>> = {},
): ReasoningPart {
  const { provider = '' } = thought;
  return { ...thought, providerData: { provider, ...(model !== undefined && { model }), data } };
}
