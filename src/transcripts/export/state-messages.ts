/**
 * What a screen shows, as messages: system, user and assistant messages, and a result for each call that has one. Codecs write
 * providers' formats from them. Only main is exported: a subagent becomes the call that started it and its result.
 */
import type {
  ConversationBlock,
  SessionConversationState,
  SubagentBlock,
  TextBlock,
} from '../../conversation/blocks.ts';
import { findSubagent } from '../../conversation/selectors.ts';
import type { AssistantMessage, ConversationMessage, MediaPart, TextPart, ToolCall } from '../../core/log/messages.ts';
import { readUserBlock } from '../../formats/anthropic-blocks.ts';
import type { LossReport } from '../../formats/losses.ts';
import { mediaPart, mediaPartOfUrl } from '../../formats/media.ts';
import { asObject, type Json, keep } from '../json-access.ts';
import { LEFT_OUT } from '../message-builder.ts';

/** A response while its blocks are read. */
type Response = AssistantMessage & { readonly content: AssistantMessage['content'][number][]; toolCalls: ToolCall[] };

/** The messages of the main thread; blocks that no message can hold go into the report. */
export function stateMessages(state: SessionConversationState, losses: LossReport): ConversationMessage[] {
  const reader = new StateReader(losses);
  for (const block of state.blocks) {
    reader.read(block);
    if (block.type === 'subagent' && findSubagent(state, block.toolUseId)?.blocks.length) {
      losses.add('what a subagent did', 'a chat holds a call and its result, not a conversation inside it', block.id);
    }
  }
  return reader.messages;
}

class StateReader {
  readonly messages: ConversationMessage[] = [];
  readonly #losses: LossReport;
  readonly #callers = new Map<string, Response>();
  #latest: Response | undefined;
  #latestId: string | undefined;
  #turn = 0;

  constructor(losses: LossReport) {
    this.#losses = losses;
  }

  read(block: ConversationBlock): void {
    switch (block.type) {
      case 'user_message':
        this.#latest = undefined;
        this.messages.push({ ...base(block.id), role: 'user', content: this.#parts(block) });
        break;
      case 'assistant_text':
      case 'thinking':
        if (block.status === 'error') {
          this.#losses.add('interrupted text', 'it was never part of the conversation', block.id);
        } else if (block.type === 'thinking') {
          this.#response(block).content.push({ type: 'reasoning', text: block.content });
        } else this.#response(block).content.push(...this.#parts(block));
        break;
      case 'tool_use': {
        const written = block.input === undefined ? (block.inputText ?? '{}') : JSON.stringify(keep(block.input));
        this.#call(block, { callId: block.toolUseId, name: block.toolName, arguments: written ?? '{}' });
        break;
      }
      case 'tool_result': {
        const { toolUseId, output, isError, parts = [] } = block;
        this.#result(toolUseId, [...texts(output), ...resultMedia(parts, toolUseId, this.#losses)], isError);
        // A text without the id of its response, after a result, starts a new response.
        if (this.#latestId === undefined) this.#latest = undefined;
        break;
      }
      case 'subagent':
        this.#call(block, subagentCall(block));
        if (block.status !== 'pending') {
          this.#result(block.toolUseId, texts(block.output ?? ''), block.status === 'error');
        }
        break;
      case 'system':
        if (block.subtype !== 'instructions') this.#losses.add('notice', LEFT_OUT.notice, block.id);
        else this.messages.push({ ...base(block.id), role: 'system', content: texts(block.content) });
        break;
      default:
        this.#losses.add(`${block.type} block`, 'a chat has only messages, calls and results', block.id);
    }
  }

  /** The response that a block belongs to. Blocks of one response belong together, also when a result came between them. */
  #response(block: ConversationBlock): Response {
    const isSame = block.message === undefined || block.message.id === this.#latestId;
    if (this.#latest && isSame) return this.#latest;
    this.#latestId = block.message?.id;
    const id = this.#latestId ?? block.id;
    this.#latest = { ...base(id, ++this.#turn), role: 'assistant', content: [], toolCalls: [] };
    this.messages.push(this.#latest);
    return this.#latest;
  }

  #call(block: ConversationBlock, call: ToolCall): void {
    const response = this.#response(block);
    response.toolCalls.push({ ...call, after: response.content.length });
    this.#callers.set(call.callId, response);
  }

  #result(callId: string, content: readonly (TextPart | MediaPart)[], isError: boolean): void {
    const caller = this.#callers.get(callId);
    const toolName = caller?.toolCalls.find((call) => call.callId === callId)?.name ?? '';
    const id = `result:${callId}`;
    this.messages.push({
      ...{ ...base(id, caller?.turn), role: 'tool' },
      ...{ toolCallId: callId, toolName, content, isError },
    });
  }

  #parts({ content, attachments = [] }: TextBlock): (TextPart | MediaPart)[] {
    const media = attachments.flatMap(({ mediaType, data, filename }): MediaPart[] => {
      if (data !== undefined) return [mediaPart(mediaType, data, filename)];
      this.#losses.add('attachment', 'only its name is known', filename ?? mediaType);
      return [];
    });
    return [...texts(content), ...media];
  }
}

/** The fields that a screen does not show. The turn distinguishes calls of the same id (D11). */
function base(id: string, turn = 0): Omit<AssistantMessage, 'role' | 'content'> {
  const where = { evaluationId: '', conversationId: 'main', sequence: 0, promptNs: '', promptKey: '' };
  return { id, ...where, turn, createdAt: '' };
}

function subagentCall({ toolUseId, name, description, input }: SubagentBlock): ToolCall {
  const asked = { ...(name && { type: name }), ...(description && { description }), ...(input && { prompt: input }) };
  return { callId: toolUseId, name: 'subagent', arguments: JSON.stringify(asked) };
}

function texts(text: string): TextPart[] {
  return text === '' ? [] : [{ type: 'text', text }];
}

/** The media of a result, as our own loop, Claude Code, Codex and OpenCode write them. The texts are in the block's output. */
function resultMedia(parts: readonly unknown[], id: string, losses: LossReport): MediaPart[] {
  return parts.flatMap((part): MediaPart[] => {
    const fields = asObject(part) ?? {};
    if (fields.type === 'text') return [];
    const found = ownMedia(fields) ?? readUserBlock(fields) ?? openCodeMedia(fields);
    if (found && found.type !== 'text') return [found];
    losses.add('part of a result', 'chats have no place for it', id);
    return [];
  });
}

function ownMedia({ type, mediaType, data, filename }: Json): MediaPart | undefined {
  const isMedia = (type === 'image' || type === 'file') && typeof mediaType === 'string' && typeof data === 'string';
  return isMedia ? mediaPart(mediaType, data, filename) : undefined;
}

function openCodeMedia({ type, mime, url, filename }: Json): MediaPart | undefined {
  const isFile = type === 'file' && typeof mime === 'string' && typeof url === 'string';
  return isFile ? mediaPartOfUrl(url, mime, filename) : undefined;
}
