/**
 * Converts messages that are still streaming: the SDK's `stream_event`s, one message at a time in each conversation.
 *
 *     message_start ─▶ content_block_start ─▶ content_block_delta … ─▶ (assistant) ─▶ content_block_stop ─▶ message_delta
 *
 * The finished `assistant` message of a block arrives before the block's stop and claims the block that was started here; an
 * unclaimed block is finished from its deltas. These events carry no time: a block gets the time of the converter's clock.
 */
import type { BlockWriter } from '../block-writer.ts';
import { asName, asObject, asText, type Json, parseJson } from '../json-access.ts';
import { isAgentTool } from './content.ts';
import type { ClaudeConversation } from './conversation.ts';
import { usageOf } from './entry.ts';

interface Content {
  readonly type: string;
  /** Its id, made from its position in the message. */
  readonly ordinalId: string;
  /** The block that deltas append to; absent for content that is shown only when it is finished. */
  readonly blockId: string | undefined;
  readonly start: Json;
  text: string;
  state: 'open' | 'stopped' | 'claimed';
}

/** Where an event of the stream belongs. */
interface Place {
  readonly conversation: ClaudeConversation;
  readonly conversationId: string;
  readonly at: string;
}

interface Message {
  readonly id: string;
  readonly model: string | undefined;
  usage: Json;
  readonly contents: Map<unknown, Content>;
}

export class PartialMessages {
  readonly #writer: BlockWriter;
  readonly #messages = new Map<string, Message>();

  constructor(writer: BlockWriter) {
    this.#writer = writer;
  }

  /** Whether a message is streaming, so that its usage and deltas are in the stream. */
  isStreaming(conversationId: string, messageId: string): boolean {
    return this.#messages.get(conversationId)?.id === messageId;
  }

  /** The id of the first block of this type that no finished message has claimed yet. */
  claim(conversationId: string, messageId: string, type: string): string | undefined {
    const message = this.#messages.get(conversationId);
    if (message?.id !== messageId) return undefined;
    for (const content of message.contents.values()) {
      if (content.type !== type || content.state === 'claimed') continue;
      content.state = 'claimed';
      return content.ordinalId;
    }
    return undefined;
  }

  handle(place: Place, event: Json): void {
    const { conversationId, at } = place;
    const message = this.#messages.get(conversationId);
    switch (event.type) {
      case 'message_start':
        this.#start(conversationId, event, at);
        break;
      case 'content_block_start':
        if (message) this.#startContent(place, message, event);
        break;
      case 'content_block_delta':
        if (message) this.#append(conversationId, message, event, at);
        break;
      case 'content_block_stop':
        if (message) this.#stopContent(place, message, event);
        break;
      case 'message_delta':
        if (message === undefined) break;
        message.usage = { ...message.usage, ...asObject(event.usage) };
        this.#writer.message(conversationId, { id: message.id, usage: usageOf(message.usage) }, at);
        break;
      default: // message_stop, ping: nothing new
    }
  }

  #start(conversationId: string, event: Json, at: string): void {
    // A new attempt follows an aborted one, whose blocks are not part of the conversation.
    for (const content of this.#messages.get(conversationId)?.contents.values() ?? []) {
      if (content.state === 'open' && content.blockId !== undefined) {
        this.#writer.remove(conversationId, content.blockId, at);
      }
    }
    const message = asObject(event.message);
    const id = asName(message?.id);
    if (id === undefined) {
      this.#messages.delete(conversationId);
      return;
    }
    this.#messages.set(conversationId, {
      id,
      model: asName(message?.model),
      usage: asObject(message?.usage) ?? {},
      contents: new Map(),
    });
  }

  #startContent({ conversation, conversationId, at }: Place, message: Message, event: Json): void {
    const start = asObject(event.content_block);
    if (start === undefined || message.contents.has(event.index)) return;
    const type = asText(start.type) ?? '';
    const index =
      Number.isSafeInteger(event.index) && (event.index as number) >= 0 ? (event.index as number) : undefined;
    const ordinalId = conversation.ordinalId(conversationId, message.id, index);
    const info = this.#writer.message(conversationId, { id: message.id, model: message.model }, at);
    const base = { conversationId, timestamp: at, status: 'pending', message: info } as const;
    let blockId: string | undefined;
    let text = '';
    if (type === 'text' || type === 'thinking') {
      blockId = ordinalId;
      text = asText(start.text) ?? asText(start.thinking) ?? '';
      this.#writer.upsert(
        { ...base, id: ordinalId, type: type === 'text' ? 'assistant_text' : 'thinking', content: text },
        at,
      );
    } else if (type === 'tool_use') {
      const toolName = asText(start.name) ?? '';
      const named = asName(start.id);
      if (named !== undefined && !isAgentTool(toolName)) {
        blockId = this.#writer.callId(conversationId, named, message.id);
        this.#writer.upsert(
          { ...base, id: blockId, type: 'tool_use', toolUseId: blockId, toolName, inputText: '' },
          at,
        );
      }
    }
    message.contents.set(event.index, { type, ordinalId, blockId, start, text, state: 'open' });
  }

  #append(conversationId: string, message: Message, event: Json, at: string): void {
    const content = message.contents.get(event.index);
    const delta = asObject(event.delta);
    if (content === undefined || content.state !== 'open' || delta === undefined) return;
    const text = asText(delta.text) ?? asText(delta.thinking) ?? asText(delta.partial_json);
    if (text === undefined) return; // a signature, a citation
    content.text += text;
    if (content.blockId !== undefined) this.#writer.delta(conversationId, content.blockId, text, at);
  }

  #stopContent({ conversation, conversationId, at }: Place, message: Message, event: Json): void {
    const content = message.contents.get(event.index);
    if (content === undefined || content.state !== 'open') return;
    content.state = 'stopped';
    const { type, text, start, ordinalId } = content;
    const info = this.#writer.message(conversationId, { id: message.id, model: message.model }, at);
    const finish = (block: Json): void =>
      conversation.addContent({ conversationId, message: info, block, ordinalId, timestamp: at });
    if (type === 'text') finish({ ...start, text });
    else if (type === 'thinking') finish({ ...start, thinking: text });
    else if (type === 'tool_use') {
      const input = text === '' ? start.input : parseJson(text);
      if (input !== undefined) finish({ ...start, input });
    }
  }
}
