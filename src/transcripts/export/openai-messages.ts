/** Conversations as messages of OpenAI's chat completions. */
import type { MediaPart, TextPart } from '../../core/messages.ts';
import type { ChatMessage } from './chat.ts';
import type { LossReport } from './losses.ts';
import { mediaSource, mediaUrl } from './media-source.ts';
import { NO_RESULT, objectArguments, ProviderCallIds } from './provider-calls.ts';

/** A part of what a user said. */
export type OpenAIUserPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }
  | { readonly type: 'file'; readonly file: { readonly filename: string; readonly file_data: string } };

/** A call that the model made. */
export interface OpenAIToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

/** A message as OpenAI's chat completions take it. */
export type OpenAIMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string | readonly OpenAIUserPart[] }
  | {
      readonly role: 'assistant';
      readonly content: string | null;
      readonly tool_calls?: readonly OpenAIToolCall[];
    }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string };

const NO_PLACE = 'OpenAI chat messages have no place for it';

/** A chat in OpenAI's format; what does not fit goes into the report. */
export function openAIMessages(chat: readonly ChatMessage[], losses: LossReport): OpenAIMessage[] {
  const ids = new ProviderCallIds(losses);
  return chat.flatMap((message): OpenAIMessage[] => {
    switch (message.role) {
      case 'system':
        return [{ role: 'system', content: message.text }];
      case 'user':
        return userMessage(message, losses);
      case 'assistant':
        return assistantMessages(message, ids, losses);
      default:
        message satisfies never;
        return [];
    }
  });
}

function userMessage(message: Extract<ChatMessage, { role: 'user' }>, losses: LossReport): OpenAIMessage[] {
  const parts = message.parts.flatMap((part) => userPart(part, message.id, losses));
  const [only] = parts;
  if (!only) return [];
  return [{ role: 'user', content: parts.length === 1 && only.type === 'text' ? only.text : parts }];
}

function userPart(part: TextPart | MediaPart, id: string, losses: LossReport): OpenAIUserPart[] {
  if (part.type === 'text') return part.text === '' ? [] : [{ type: 'text', text: part.text }];
  const url = mediaUrl(part);
  if (url === undefined) losses.add('medium', 'its content is kept apart in a store', id);
  else if (part.mediaType.startsWith('image/')) return [{ type: 'image_url', image_url: { url } }];
  else if (part.mediaType === 'application/pdf' && mediaSource(part).kind === 'base64') {
    return [{ type: 'file', file: { filename: part.filename ?? 'document.pdf', file_data: url } }];
  } else losses.add(`medium of type ${part.mediaType}`, 'OpenAI chat messages take images and PDF contents', id);
  return [];
}

function assistantMessages(
  message: Extract<ChatMessage, { role: 'assistant' }>,
  ids: ProviderCallIds,
  losses: LossReport,
): OpenAIMessage[] {
  let content = '';
  for (const part of message.parts) {
    if (part.type === 'text') content += part.text;
    else losses.add(part.type === 'reasoning' ? 'reasoning' : 'medium of an answer', NO_PLACE, message.id);
  }
  const results: OpenAIMessage[] = [];
  const tool_calls = message.calls.map((call): OpenAIToolCall => {
    const id = ids.id(call.id);
    if (call.after < message.parts.length) losses.add('place of a call in its answer', NO_PLACE, call.id);
    if (!call.result) losses.add('missing result', `"${NO_RESULT}" stands in its place`, call.id);
    if (call.result?.isError) losses.add('that a tool failed', NO_PLACE, call.id);
    for (const _ of call.result?.media ?? []) losses.add('medium of a result', NO_PLACE, call.id);
    results.push({ role: 'tool', tool_call_id: id, content: call.result?.text ?? NO_RESULT });
    const written = JSON.stringify(objectArguments(call, losses));
    return { id, type: 'function', function: { name: ids.name(call.name), arguments: written } };
  });
  if (content === '' && tool_calls.length === 0) return [];
  return [
    {
      role: 'assistant',
      content: content === '' ? null : content,
      ...(tool_calls.length > 0 && { tool_calls }),
    },
    ...results,
  ];
}
