import { HoldfastError } from '../core/errors.ts';
import type { MediaPart } from '../core/messages.ts';

/** Where the bytes of an image or file are. */
export type Media =
  | { readonly kind: 'data'; readonly mediaType: string; readonly base64: string }
  | { readonly kind: 'url'; readonly mediaType: string; readonly url: string };

/** Reads a part's `data`: base64, a `data:` URL or another URL. Content that the store keeps apart (D58) must be there again. */
export function mediaOf(part: MediaPart): Media {
  const { data, mediaType } = part;
  if (data.startsWith('sha256:')) {
    throw new HoldfastError(
      'CONTENT_NOT_FOUND',
      `the content of ${data} is kept in the store; read it from there before the message is sent`,
    );
  }
  if (data.startsWith('data:')) {
    const comma = data.indexOf(',');
    if (comma < 0) {
      throw new HoldfastError('INVALID_ARGUMENT', `"${data.slice(0, 100)}" has no content; a data URL has a comma`);
    }
    const [type = ''] = data.slice('data:'.length, comma).split(';');
    const body = data.slice(comma + 1);
    const base64 = data.slice(0, comma).endsWith(';base64');
    return {
      kind: 'data',
      mediaType: mediaType || type,
      base64: base64 ? body : unescaped(body).toString('base64'),
    };
  }
  // Base64 has no colon.
  if (!data.includes(':')) return { kind: 'data', mediaType, base64: data };
  if (URL.canParse(data)) return { kind: 'url', mediaType, url: data };
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `"${data.slice(0, 100)}" is neither base64 nor a URL; give one of them as data`,
  );
}

/** The bytes that a text with percent escapes stands for; a percent sign that begins none stands for itself. */
function unescaped(text: string): Buffer {
  const pieces = text.split(/%([0-9A-Fa-f]{2})/);
  return Buffer.concat(pieces.map((piece, i) => Buffer.from(piece, i % 2 === 1 ? 'hex' : 'utf8')));
}

/** A media type as the kind of our parts. */
export function mediaKind(mediaType: string): 'image' | 'file' {
  return mediaType === 'image' || mediaType.startsWith('image/') ? 'image' : 'file';
}
