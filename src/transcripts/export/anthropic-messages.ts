/** Conversations as messages of Anthropic's Messages API. */
import type { MediaPart, ReasoningPart, TextPart } from '../../core/messages.ts';

import type { ChatCall, ChatMessage } from './chat.ts';
import type { LossReport } from './losses.ts';
import { mediaSource } from './media-source.ts';
import { NO_RESULT, objectArguments, ProviderCallIds } from './provider-calls.ts';

/** Where the content of a picture or a document is. */
export type AnthropicSource =
  | { readonly type: 'base64'; readonly media_type: string; readonly data: string }
  | { readonly type: 'url'; readonly url: string };

/** A part of a message's content. */
export type AnthropicContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'document'; readonly source: AnthropicSource }
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: object }
  | {
      readonly type: 'tool_result';
      readonly tool_use_id: string;
      readonly content: string | readonly AnthropicContent[];
      readonly is_error?: true;
    };

/** A conversation as Anthropic takes it: instructions apart, and the two roles in turn. */
export interface AnthropicConversation {
  readonly system?: string;
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: readonly AnthropicContent[] }[];
}

/** A chat in Anthropic's format; what does not fit goes into the report. */
export function anthropicMessages(chat: readonly ChatMessage[], losses: LossReport): AnthropicConversation {
  const ids = new ProviderCallIds(losses);
  const instructions: string[] = [];
  const messages: { role: 'user' | 'assistant'; content: AnthropicContent[] }[] = [];
  const say = (role: 'user' | 'assistant', content: readonly AnthropicContent[]): void => {
    if (content.length === 0) return;
    const last = messages.at(-1);
    if (last?.role === role) last.content.push(...content);
    else messages.push({ role, content: [...content] });
  };
  for (const message of chat) {
    if (message.role === 'system') {
      if (messages.length > 0)
        losses.add('place of instructions', 'Anthropic takes them before the messages', message.id);
      instructions.push(message.text);
    } else if (message.role === 'user') {
      say(
        'user',
        message.parts.flatMap((part) => spoken(part, message.id, losses)),
      );
    } else {
      const { content, results } = answerOf(message, ids, losses);
      if (messages.length === 0 && content.length > 0) {
        losses.add('beginning', 'Anthropic wants a user’s message first; add one before you send it', message.id);
      }
      say('assistant', content);
      say('user', results);
    }
  }
  return { ...(instructions.length > 0 && { system: instructions.join('\n\n') }), messages };
}

/** An answer with its calls where they were made, and the message that brings the results. */
function answerOf(
  message: Extract<ChatMessage, { role: 'assistant' }>,
  ids: ProviderCallIds,
  losses: LossReport,
): { readonly content: AnthropicContent[]; readonly results: AnthropicContent[] } {
  const content: AnthropicContent[] = [];
  const results: AnthropicContent[] = [];
  const calls = message.calls.toSorted((a, b) => a.after - b.after);
  const callUpTo = (place: number): void => {
    for (let call = calls[0]; call && call.after <= place; call = calls[0]) {
      calls.shift();
      const id = ids.id(call.id);
      content.push({ type: 'tool_use', id, name: ids.name(call.name), input: objectArguments(call, losses) });
      results.push(resultOf(call, id, losses));
    }
  };
  for (const [place, part] of message.parts.entries()) {
    callUpTo(place);
    if (part.type === 'text') content.push(...spoken(part, message.id, losses));
    else if (part.type === 'reasoning') content.push(...thought(part, message.id, losses));
    else losses.add('medium of an answer', 'Anthropic answers hold none', message.id);
  }
  callUpTo(Number.POSITIVE_INFINITY);
  return { content, results };
}

function spoken(part: TextPart | MediaPart, id: string, losses: LossReport): AnthropicContent[] {
  if (part.type === 'text') return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text }];
  const isImage = part.mediaType.startsWith('image/');
  if (!isImage && part.mediaType !== 'application/pdf') {
    losses.add(`medium of type ${part.mediaType}`, 'Anthropic messages take images and PDF documents', id);
    return [];
  }
  const source = mediaSource(part);
  if (source.kind === 'stored') {
    losses.add('medium', 'its content is kept apart in a store', id);
    return [];
  }
  const type = isImage ? 'image' : 'document';
  if (source.kind === 'url') return [{ type, source: { type: 'url', url: source.url } }];
  return [{ type, source: { type: 'base64', media_type: part.mediaType, data: source.data } }];
}

function thought(part: ReasoningPart, id: string, losses: LossReport): AnthropicContent[] {
  const isTheirs = part.provider === undefined || part.provider === 'anthropic';
  if (isTheirs && part.redacted !== undefined) return [{ type: 'redacted_thinking', data: part.redacted }];
  if (isTheirs && part.signature !== undefined) {
    return [{ type: 'thinking', thinking: part.text, signature: part.signature }];
  }
  losses.add('reasoning', 'Anthropic takes back only what it signed', id);
  return [];
}

/** Anthropic refuses an error that says nothing. */
const NO_MESSAGE = 'It failed without a message.';

function resultOf(call: ChatCall, id: string, losses: LossReport): AnthropicContent {
  if (!call.result) losses.add('missing result', `"${NO_RESULT}" stands in its place`, call.id);
  const { media, isError, ...result } = call.result ?? { text: NO_RESULT, media: [], isError: true };
  let { text } = result;
  if (isError && text.trim() === '') {
    losses.add('empty error', `"${NO_MESSAGE}" stands in its place`, call.id);
    text = NO_MESSAGE;
  }
  const shown = media.flatMap((part) => spoken(part, call.id, losses));
  const content = shown.length === 0 ? text : [...spoken({ type: 'text', text }, call.id, losses), ...shown];
  return { type: 'tool_result', tool_use_id: id, content, ...(isError && { is_error: true as const }) };
}
