/**
 * Messages that a provider can read, out of a transcript that may be broken off anywhere: every call is followed by its result, in
 * the order of the calls, before anything else is said.
 *
 *     assistant (its lines, one message) ─▶ results as they came ─▶ what the user typed meanwhile
 *
 * A call that never got a result gets one that says so. A result may also come before its call, or after other messages: it is put where
 * it belongs. What no provider would take is left out or renamed: blank texts, thoughts that nothing follows, ids with odd characters.
 */
import type {
  AssistantMessage,
  ConversationMessage,
  MediaPart,
  ReasoningPart,
  TextPart,
  ToolCall,
  UserMessage,
} from '../core/log/messages.ts';
import { API_RULES } from '../formats/api-rules.ts';
import { ImportedMessages, type MessageImportOptions } from '../formats/imported-messages.ts';
import type { FormatOptions } from '../formats/losses.ts';
import { hasContent } from '../formats/message-parts.ts';
import { EMPTY_FAILURE, NO_RESULT } from '../formats/placeholders.ts';
import { renameCalls } from '../formats/rename-calls.ts';

/** What messages for another agent or API leave out, and why: the same words wherever a conversation is converted. */
export const LEFT_OUT = {
  reasoning: 'its proof belongs to one provider',
  instructions: 'the agent that continues has its own',
  notice: 'it is no message',
} as const;

/** The fields of imported messages that only our log has, and where to start. */
export interface ImportedMessagesOptions extends Omit<MessageImportOptions, 'createdAt'> {
  /**
   * Where to start: at the first message, or at the newest summary that the agent made, from which the agent itself would continue.
   * Default: `start`.
   */
  readonly from?: 'start' | 'compaction';
  /** Receives what the messages leave out or hold in another way: reasoning, notices, instructions, calls without a result. */
  readonly onLoss?: FormatOptions['onLoss'];
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

/** A call, and the number of parts that the model wrote before it. */
interface Asked {
  readonly call: ToolCall;
  readonly partsBefore: number;
  result?: Result;
}

interface OpenResponse {
  readonly id: string;
  readonly createdAt: string;
  readonly parts: AssistantPart[];
  readonly calls: Map<string, Asked>;
  /** The calls that wait for a result. */
  open: number;
}

export class MessageBuilder {
  readonly #imported: ImportedMessages;
  readonly #onLoss: FormatOptions['onLoss'];
  /** The ids of the messages, and how often each was used. */
  readonly #ids = new Map<string, number>();
  /** The results whose calls were not read yet. */
  readonly #early = new Map<string, Result>();
  /** Where the results are that say that there is none, by call. */
  readonly #unknown = new Map<string, number>();
  #response: OpenResponse | undefined;
  /** What the user said while calls were open. */
  #waiting: { readonly id: string; readonly createdAt: string; readonly content: readonly UserPart[] }[] = [];

  constructor({ from: _, onLoss, ...options }: ImportedMessagesOptions) {
    this.#onLoss = onLoss;
    this.#imported = new ImportedMessages({ promptNs: 'import', promptKey: 'transcript', ...options });
  }

  user(id: string, createdAt: string, given: readonly UserPart[]): void {
    const content = given.filter(hasContent);
    if (content.length === 0) return;
    this.#waiting.push({ id, createdAt, content });
    if (!this.#response?.open) this.#close();
  }

  /** Reports something of the transcript that no message holds. */
  leaveOut(what: keyof typeof LEFT_OUT, id: string): void {
    this.#onLoss?.({ what, why: LEFT_OUT[what], id });
  }

  /** A part of the assistant's message with this id. */
  addPart(messageId: string, createdAt: string, part: AssistantPart): void {
    this.#responseOf(messageId, createdAt).parts.push(part);
  }

  /** A call of the assistant's message with this id. */
  call(messageId: string, createdAt: string, call: ToolCall): void {
    const response = this.#responseOf(messageId, createdAt);
    const { callId } = call;
    if (response.calls.has(callId)) return;
    const result = call.providerExecuted ? undefined : this.#early.get(callId);
    if (result) this.#early.delete(callId);
    response.calls.set(callId, { call, partsBefore: response.parts.length, ...(result && { result }) });
    if (!result && !call.providerExecuted) response.open++;
  }

  /** What came of a call: of the open response, of an earlier one that has no result yet, or of one that comes later. */
  result(callId: string, given: Result): void {
    const content = given.content.filter(hasContent);
    const isSilentFailure = given.isError && content.length === 0;
    if (isSilentFailure) {
      this.#onLoss?.({ what: 'empty error', why: `"${EMPTY_FAILURE}" stands in its place`, id: callId });
    }
    const result = { ...given, content: isSilentFailure ? [{ type: 'text' as const, text: EMPTY_FAILURE }] : content };
    const asked = this.#response?.calls.get(callId);
    const place = this.#unknown.get(callId);
    if (this.#response && asked) {
      if (asked.result || asked.call.providerExecuted) return;
      asked.result = result;
      this.#response.open--;
    } else if (place === undefined) this.#early.set(callId, result);
    else {
      const message = this.#imported.messages[place];
      if (message?.role !== 'tool') return;
      this.#unknown.delete(callId);
      this.#imported.messages[place] = { ...message, ...result, id: this.#unique(result.id) };
    }
  }

  /** A call that the provider ran, now with its result. */
  provided(call: ToolCall): void {
    const asked = this.#response?.calls.get(call.callId);
    if (asked?.call.providerExecuted) this.#response?.calls.set(call.callId, { ...asked, call });
  }

  finish(): readonly ConversationMessage[] {
    this.#close();
    for (const id of this.#unknown.keys()) {
      this.#onLoss?.({ what: 'missing result', why: `"${NO_RESULT}" stands in its place`, id });
    }
    for (const id of this.#early.keys()) {
      this.#onLoss?.({ what: 'tool result', why: 'its call is not in the conversation, or has a result', id });
    }
    return renameCalls(this.#imported.messages, API_RULES.openai, { onLoss: this.#onLoss }); // the strictest rules
  }

  #responseOf(id: string, createdAt: string): OpenResponse {
    if (this.#response?.id === id) return this.#response;
    this.#close();
    this.#response = { id, createdAt, parts: [], calls: new Map(), open: 0 };
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
    // Blank texts say nothing and are refused by providers; so is a thought that led to nothing.
    let end = parts.findLastIndex((part) => part.type !== 'reasoning' && hasContent(part)) + 1;
    for (const { partsBefore } of calls.values()) end = Math.max(end, partsBefore);
    const content = parts.slice(0, end).filter(hasContent);
    for (const part of parts.slice(end)) if (part.type === 'reasoning') this.leaveOut('reasoning', id);
    if (calls.size === 0 && content.length === 0) return;
    const toolCalls: ToolCall[] = [];
    let [seen, after] = [0, 0];
    for (const { call, partsBefore } of calls.values()) {
      for (; seen < partsBefore; seen++) if (hasContent(parts[seen] as AssistantPart)) after++;
      toolCalls.push(after === content.length ? call : { ...call, after });
    }
    this.#imported.push({
      ...{ id: this.#unique(id), createdAt, providerMessageId: id, role: 'assistant', content },
      ...(toolCalls.length > 0 && { toolCalls }),
    });
    for (const { call, result } of calls.values()) {
      if (call.providerExecuted) continue;
      const { callId, name } = call;
      if (result === undefined) this.#unknown.set(callId, this.#imported.messages.length);
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
    const known = this.#ids.get(id);
    if (known === undefined) {
      this.#ids.set(id, 1);
      return id;
    }
    let n = known + 1;
    while (this.#ids.has(`${id}#${n}`)) n++;
    this.#ids.set(id, n).set(`${id}#${n}`, 1);
    return `${id}#${n}`;
  }
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
