import { isRecord } from '../core/log/message-problem.ts';
import type { MediaPart, ReasoningPart, TextPart, ToolCall } from '../core/log/messages.ts';
import { base64OfText, textOfBase64 } from './base64.ts';
import { inputOf } from './call-arguments.ts';
import type { FormatOptions } from './losses.ts';
import { orLoss, refusedType, Unsendable, webMedia } from './media.ts';

/** Blocks of Anthropic's Messages API, to and from the parts of our messages. */

/** Text. */
export type AnthropicTextBlock = { type: 'text'; text: string };
/** An image, by its content or its address. */
export type AnthropicImageBlock = {
  type: 'image';
  source:
    | { type: 'base64'; media_type: 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'; data: string }
    | { type: 'url'; url: string };
};
/** A PDF or a plain text. */
export type AnthropicDocumentBlock = {
  type: 'document';
  source:
    | { type: 'base64'; media_type: 'application/pdf'; data: string }
    | { type: 'text'; media_type: 'text/plain'; data: string }
    | { type: 'url'; url: string };
  title?: string;
};
/** The content of a user message or a result. */
export type AnthropicUserBlock = AnthropicTextBlock | AnthropicImageBlock | AnthropicDocumentBlock;
/** A block that was not checked yet. */
export type UnreadBlock = Readonly<Record<string, unknown>>;

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const;
const ACCEPTED = `Anthropic takes ${IMAGE_TYPES.join(', ')}, application/pdf and text/plain`;

/** A text part as a block. */
export function textBlock(part: TextPart): AnthropicTextBlock {
  return { type: 'text', text: part.text.toWellFormed() };
}

/** A part of a user message or a result as a block: none for media that cannot be sent, when `onLoss` receives the loss. */
export function userBlocks(part: TextPart | MediaPart, id = '', options: FormatOptions = {}): AnthropicUserBlock[] {
  return part.type === 'text' ? [textBlock(part)] : orLoss(mediaBlock(part), id, options);
}

function mediaBlock(part: MediaPart): AnthropicImageBlock | AnthropicDocumentBlock | Unsendable {
  const media = webMedia(part);
  if (media instanceof Unsendable) return media;
  const title = part.filename === undefined ? {} : { title: part.filename };
  if (part.type === 'image') {
    if (media.kind === 'url') return { type: 'image', source: { type: 'url', url: media.url } };
    const media_type = IMAGE_TYPES.find((type) => type === media.mediaType);
    if (!media_type) return refusedType(part, ACCEPTED);
    return { type: 'image', source: { type: 'base64', media_type, data: media.base64 } };
  }
  if (media.kind === 'url') return { type: 'document', source: { type: 'url', url: media.url }, ...title };
  if (media.mediaType === 'application/pdf') {
    const source = { type: 'base64', media_type: 'application/pdf', data: media.base64 } as const;
    return { type: 'document', source, ...title };
  }
  if (media.mediaType !== 'text/plain') return refusedType(part, ACCEPTED);
  const source = { type: 'text', media_type: 'text/plain', data: textOfBase64(media.base64) } as const;
  return { type: 'document', source, ...title };
}

/** A text block as a part. */
export function readText(block: UnreadBlock): TextPart | undefined {
  return block.type === 'text' && typeof block.text === 'string' ? { type: 'text', text: block.text } : undefined;
}

/** A block of a user message or a result as a part; `undefined` for one that our messages have no place for. */
export function readUserBlock(block: UnreadBlock): TextPart | MediaPart | undefined {
  const { type, source, title } = block;
  if ((type !== 'image' && type !== 'document') || !isRecord(source)) return readText(block);
  const filename = typeof title === 'string' ? { filename: title } : {};
  const kind = type === 'image' ? 'image' : 'file';
  if (typeof source.url === 'string') {
    return { type: kind, mediaType: type === 'image' ? 'image/*' : 'application/pdf', data: source.url, ...filename };
  }
  if (typeof source.data !== 'string' || typeof source.media_type !== 'string') return undefined;
  const data = source.type === 'text' ? base64OfText(source.data) : source.data;
  return { type: kind, mediaType: source.media_type, data, ...filename };
}

/** The blocks of a content: a text is one text block. `undefined` when it is neither text nor a list of blocks. */
export function readBlocks(content: unknown): readonly UnreadBlock[] | undefined {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return Array.isArray(content) && content.every(isRecord) ? content : undefined;
}

/** A thought as a part; `undefined` for a block of another type. */
export function readThought(block: UnreadBlock): ReasoningPart | undefined {
  const { type, thinking, signature, data } = block;
  const from = { type: 'reasoning', provider: 'anthropic' } as const;
  if (type === 'thinking') {
    const text = typeof thinking === 'string' ? thinking : '';
    return { ...from, text, ...(typeof signature === 'string' && { signature }) };
  }
  return type === 'redacted_thinking' && typeof data === 'string' ? { ...from, text: '', redacted: data } : undefined;
}

/** Whether Anthropic takes a thought back. One of unknown origin is not sent: a foreign signature makes the API refuse the request. */
export function isSignedByAnthropic({ provider, signature, redacted }: ReasoningPart): boolean {
  return provider === 'anthropic' && (signature ?? redacted) !== undefined;
}

/** Marks calls whose result is in the form of this API; results of the AI SDK have another form. */
const SERVER_TOOLS = 'anthropic-messages';

/** Whether a block is a call of a tool that Anthropic runs. */
export function isServerCall({ type }: UnreadBlock): boolean {
  return typeof type === 'string' && type !== 'tool_use' && type.endsWith('tool_use');
}

/** A call that Anthropic ran, and its result block. */
export function readServerCall(block: UnreadBlock, resultBlock: UnreadBlock | undefined): ToolCall | undefined {
  const { id, name, input, cache_control: _, ...call } = block;
  if (typeof id !== 'string' || typeof name !== 'string' || !resultBlock) return undefined;
  const { tool_use_id: _id, content, cache_control: _cache, ...result } = resultBlock;
  return {
    callId: id,
    name,
    arguments: JSON.stringify(input ?? {}),
    providerExecuted: { result: content },
    providerData: { provider: SERVER_TOOLS, data: { call, result } },
  };
}

/** The blocks of a call that Anthropic ran; `undefined` for a call that another provider ran, or another API recorded. */
export function serverBlocks(call: ToolCall): readonly UnreadBlock[] | undefined {
  const { providerData, providerExecuted } = call;
  if (providerData?.provider !== SERVER_TOOLS) return undefined;
  const { call: called, result } = providerData.data as { call?: object; result?: object };
  if (!called || !result) return undefined;
  return [
    { ...called, id: call.callId, name: call.name, input: inputOf(call) },
    { ...result, tool_use_id: call.callId, content: providerExecuted?.result },
  ];
}
