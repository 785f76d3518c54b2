import { HoldfastError } from '../core/errors.ts';
import type { MediaPart, TextPart } from '../core/messages.ts';
import { isRecord } from './imported-messages.ts';
import { mediaOf } from './media.ts';

/** Text, images and documents as blocks of Anthropic's Messages API, both ways. */

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
/** What a user or a tool may say. */
export type AnthropicUserBlock = AnthropicTextBlock | AnthropicImageBlock | AnthropicDocumentBlock;
/** A block as it comes in, not yet looked at. */
export type UnreadBlock = Readonly<Record<string, unknown>>;

/** A text part as a block. */
export function textBlock(part: TextPart): AnthropicTextBlock {
  return { type: 'text', text: part.text.toWellFormed() };
}

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const;

/** What a user or a tool said as a block. */
export function userBlock(part: TextPart | MediaPart): AnthropicUserBlock {
  if (part.type === 'text') return textBlock(part);
  const media = mediaOf(part);
  const title = part.filename === undefined ? {} : { title: part.filename };
  if (part.type === 'image') {
    if (media.kind === 'url') return { type: 'image', source: { type: 'url', url: media.url } };
    const media_type = IMAGE_TYPES.find((type) => type === media.mediaType) ?? refuseMedia(media.mediaType);
    return { type: 'image', source: { type: 'base64', media_type, data: media.base64 } };
  }
  if (media.kind === 'url') return { type: 'document', source: { type: 'url', url: media.url }, ...title };
  if (media.mediaType === 'application/pdf') {
    return {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: media.base64 },
      ...title,
    };
  }
  if (media.mediaType !== 'text/plain') return refuseMedia(media.mediaType);
  const data = Buffer.from(media.base64, 'base64').toString();
  return { type: 'document', source: { type: 'text', media_type: 'text/plain', data }, ...title };
}

function refuseMedia(mediaType: string): never {
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `Anthropic takes ${IMAGE_TYPES.join(', ')}, application/pdf and text/plain, not ${mediaType}; convert it or leave it out`,
  );
}

/** A text block as a part. */
export function readText(block: UnreadBlock): TextPart | undefined {
  return block.type === 'text' && typeof block.text === 'string' ? { type: 'text', text: block.text } : undefined;
}

/** A block of a user or of a tool as a part; `undefined` for one that we have no place for. */
export function readUserBlock(block: UnreadBlock): TextPart | MediaPart | undefined {
  const { type, source, title } = block;
  if ((type !== 'image' && type !== 'document') || !isRecord(source)) return readText(block);
  const filename = typeof title === 'string' ? { filename: title } : {};
  const kind = type === 'image' ? 'image' : 'file';
  if (typeof source.url === 'string') {
    return { type: kind, mediaType: type === 'image' ? 'image/*' : 'application/pdf', data: source.url, ...filename };
  }
  if (typeof source.data !== 'string' || typeof source.media_type !== 'string') return undefined;
  const data = source.type === 'text' ? Buffer.from(source.data).toString('base64') : source.data;
  return { type: kind, mediaType: source.media_type, data, ...filename };
}
