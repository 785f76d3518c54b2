/**
 * A conversation as chat formats see it: system, user and assistant messages, and every call with its own result. From here the
 * formats of providers are written; a conversation that is not coherent cannot be expressed.
 */
import type { Attachment, ConversationBlock, SubagentBlock } from '../../conversation/blocks.ts';
import { findSubagent } from '../../conversation/selectors.ts';
import type { SessionConversationState } from '../../conversation/state.ts';
import type { ConversationMessage, MediaPart, ReasoningPart, TextPart, ToolCall } from '../../core/messages.ts';
import { asObject, type Json, keep } from '../json-access.ts';
import type { LossReport } from './losses.ts';

/** What came of a call. */
export interface ChatResult {
  readonly text: string;
  readonly media: readonly MediaPart[];
  readonly isError: boolean;
}

/** A call and, if there is one, its result. */
export interface ChatCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  /** How many parts of its message come before it. */
  readonly after: number;
  result?: ChatResult;
}

/** One message of a chat. */
export type ChatMessage =
  | { readonly role: 'system'; readonly id: string; readonly text: string }
  | { readonly role: 'user'; readonly id: string; readonly parts: readonly (TextPart | MediaPart)[] }
  | {
      readonly role: 'assistant';
      readonly id: string;
      readonly parts: (TextPart | MediaPart | ReasoningPart)[];
      readonly calls: ChatCall[];
    };

type AssistantChat = Extract<ChatMessage, { readonly role: 'assistant' }>;

const NOT_MAIN = 'a chat is one conversation; export a child conversation by itself';

/** The main conversation of recorded messages. */
export function chatOfMessages(messages: readonly ConversationMessage[], losses: LossReport): ChatMessage[] {
  const chat: ChatMessage[] = [];
  let latest: AssistantChat | undefined;
  for (const message of messages) {
    if (message.conversationId !== 'main') losses.add('child conversation', NOT_MAIN, message.conversationId);
    else if (message.role === 'system') chat.push({ role: 'system', id: message.id, text: textIn(message.content) });
    else if (message.role === 'user') chat.push({ role: 'user', id: message.id, parts: message.content });
    else if (message.role === 'assistant') {
      const calls = (message.toolCalls ?? []).map((call) => chatCall(call, message.content.length));
      latest = { role: 'assistant', id: message.id, parts: [...message.content], calls };
      chat.push(latest);
    } else {
      const media = message.content.filter((part) => part.type !== 'text');
      const result = { text: textIn(message.content), media, isError: message.isError };
      answer(latest, message.toolCallId, result, losses);
    }
  }
  return chat;
}

/** The main thread of what a screen shows. */
export function chatOfState(state: SessionConversationState, losses: LossReport): ChatMessage[] {
  const chat: ChatMessage[] = [];
  const callers = new Map<string, AssistantChat>();
  let latest: AssistantChat | undefined;
  let latestId: string | undefined;
  const speaker = (block: ConversationBlock): AssistantChat => {
    // Blocks of one answer belong together, also when a result came between them.
    const isSame = latest !== undefined && (block.message === undefined || block.message.id === latestId);
    if (!latest || !isSame) {
      latestId = block.message?.id;
      latest = { role: 'assistant', id: latestId ?? block.id, parts: [], calls: [] };
      chat.push(latest);
    }
    return latest;
  };
  for (const block of state.blocks) {
    switch (block.type) {
      case 'user_message':
        latest = undefined;
        chat.push({
          role: 'user',
          id: block.id,
          parts: [...texts(block.content), ...media(block.attachments, losses)],
        });
        break;
      case 'assistant_text':
      case 'thinking':
        if (block.status === 'error') losses.add('interrupted text', 'it was never part of the conversation', block.id);
        else if (block.type === 'thinking') speaker(block).parts.push({ type: 'reasoning', text: block.content });
        else speaker(block).parts.push(...texts(block.content), ...media(block.attachments, losses));
        break;
      case 'tool_use': {
        const caller = speaker(block);
        const written = block.input === undefined ? (block.inputText ?? '{}') : JSON.stringify(keep(block.input));
        caller.calls.push({
          id: block.toolUseId,
          name: block.toolName,
          arguments: written ?? '{}',
          after: caller.parts.length,
        });
        callers.set(block.toolUseId, caller);
        break;
      }
      case 'tool_result': {
        const { output: text, isError, parts = [] } = block;
        const shown = resultMedia(parts, block.toolUseId, losses);
        answer(callers.get(block.toolUseId), block.toolUseId, { text, media: shown, isError }, losses);
        // What is said without naming its answer, after a result, is said in a new one.
        if (latest && latestId === undefined) latest = undefined;
        break;
      }
      case 'subagent':
        speaker(block).calls.push(subagentCall(block, speaker(block).parts.length));
        if (findSubagent(state, block.toolUseId)?.blocks.length) {
          losses.add(
            'what a subagent did',
            'a chat holds a call and its result, not a conversation inside it',
            block.id,
          );
        }
        break;
      case 'system':
        if (block.subtype === 'instructions') chat.push({ role: 'system', id: block.id, text: block.content });
        else losses.add('notice', 'nobody said it', block.id);
        break;
      default:
        losses.add(`${block.type} block`, 'a chat has only messages, calls and results', block.id);
    }
  }
  return chat;
}

function chatCall(call: ToolCall, length: number): ChatCall {
  const { callId: id, name, providerExecuted } = call;
  const base = { id, name, arguments: call.arguments, after: Math.min(call.after ?? length, length) };
  if (providerExecuted?.result === undefined) return base;
  const { result, isError = false } = providerExecuted;
  const text = typeof result === 'string' ? result : (JSON.stringify(keep(result)) ?? '');
  return { ...base, result: { text, media: [], isError } };
}

function subagentCall(block: SubagentBlock, after: number): ChatCall {
  const { toolUseId, name, description, input, output, status } = block;
  const asked = { ...(name && { type: name }), ...(description && { description }), ...(input && { prompt: input }) };
  const result = { text: output ?? '', media: [], isError: status === 'error' };
  return {
    id: toolUseId,
    name: 'subagent',
    arguments: JSON.stringify(asked),
    after,
    ...(status !== 'pending' && { result }),
  };
}

/** Gives a result to the newest call of its id that has none. */
function answer(caller: AssistantChat | undefined, id: string, result: ChatResult, losses: LossReport): void {
  const call = caller?.calls.find((candidate) => candidate.id === id && candidate.result === undefined);
  if (call) call.result = result;
  else losses.add('tool result', 'its call is not in the conversation', id);
}

function texts(text: string): TextPart[] {
  return text === '' ? [] : [{ type: 'text', text }];
}

function textIn(parts: readonly (TextPart | MediaPart)[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function media(attachments: readonly Attachment[] = [], losses: LossReport): MediaPart[] {
  return attachments.flatMap(({ mediaType, data, filename }): MediaPart[] => {
    if (data === undefined) {
      losses.add('attachment', 'only its name is known', filename ?? mediaType);
      return [];
    }
    return [medium(mediaType, data, filename)];
  });
}

/** The pictures and files of a result, as whoever ran the tool wrote them. Its texts are in its output. */
function resultMedia(parts: readonly unknown[], id: string, losses: LossReport): MediaPart[] {
  return parts.flatMap((part): MediaPart[] => {
    const fields = asObject(part) ?? {};
    if (fields.type === 'text') return [];
    const found = ownMedia(fields) ?? claudeMedia(fields) ?? openCodeMedia(fields);
    if (!found) losses.add('part of a result', 'chats have no place for it', id);
    return found ? [found] : [];
  });
}

function ownMedia({ type, mediaType, data, filename }: Json): MediaPart | undefined {
  if ((type !== 'image' && type !== 'file') || typeof mediaType !== 'string' || typeof data !== 'string')
    return undefined;
  return medium(mediaType, data, filename);
}

function claudeMedia({ type, source }: Json): MediaPart | undefined {
  const { media_type: mediaType, data, url } = asObject(source) ?? {};
  const content = typeof data === 'string' ? data : url;
  if ((type !== 'image' && type !== 'document') || typeof content !== 'string') return undefined;
  return medium(
    typeof mediaType === 'string' ? mediaType : type === 'image' ? 'image/png' : 'application/pdf',
    content,
  );
}

function openCodeMedia({ type, mime, url, filename }: Json): MediaPart | undefined {
  return type === 'file' && typeof mime === 'string' && typeof url === 'string'
    ? medium(mime, url, filename)
    : undefined;
}

function medium(mediaType: string, data: string, filename?: unknown): MediaPart {
  const type = mediaType.startsWith('image/') ? 'image' : 'file';
  return { type, mediaType, data, ...(typeof filename === 'string' && { filename }) };
}
