import { HoldfastError } from '../core/errors.ts';
import type { MediaPart } from '../core/log/messages.ts';
import { base64OfEscapes } from './base64.ts';
import type { FormatOptions } from './losses.ts';

/** Where the bytes of an image or file are. */
export type Media =
  | { readonly kind: 'data'; readonly mediaType: string; readonly base64: string }
  | { readonly kind: 'url'; readonly mediaType: string; readonly url: string };

/** Media that a format cannot hold: a loss for a caller that listens to losses, an error for any other. */
export class Unsendable {
  readonly what: string;
  readonly error: HoldfastError;

  constructor(what: string, error: HoldfastError) {
    this.what = what;
    this.error = error;
  }
}

/** Reads a part's `data`: base64, a `data:` URL or another URL. External content (D58) must be loaded before. */
export function locateMedia(part: Pick<MediaPart, 'data' | 'mediaType'>): Media | Unsendable {
  const { data, mediaType } = part;
  if (data.startsWith('sha256:')) {
    const advice = `the content of ${data} is in the store; read it from there before the message is sent`;
    return new Unsendable('medium', new HoldfastError('CONTENT_NOT_FOUND', advice));
  }
  if (data.startsWith('data:')) {
    const comma = data.indexOf(',');
    if (comma < 0) {
      return invalid(`${start(data)} has no comma, so it has no content; expected data:<type>;base64,<content>`);
    }
    const [type = ''] = data.slice('data:'.length, comma).split(';');
    const body = data.slice(comma + 1);
    const base64 = data.slice(0, comma).endsWith(';base64') ? body : base64OfEscapes(body);
    return { kind: 'data', mediaType: mediaType || type, base64 };
  }
  // Base64 has no colon.
  if (!data.includes(':')) return { kind: 'data', mediaType, base64: data };
  if (/^[a-z][a-z\d+.-]*:[^\s:]+/i.test(data)) return { kind: 'url', mediaType, url: data };
  return invalid(`${start(data)} is neither base64 nor a URL; pass one of them as data`);
}

/** Like `locateMedia`, but throws for media that cannot be sent. */
export function mediaOf(part: MediaPart): Media {
  const media = locateMedia(part);
  if (media instanceof Unsendable) throw media.error;
  return media;
}

/** Media that the API itself can load or is given: one that is at another kind of address cannot be sent. */
export function webMedia(part: MediaPart): Media | Unsendable {
  const media = locateMedia(part);
  if (media instanceof Unsendable || media.kind === 'data' || /^https?:/i.test(media.url)) return media;
  return invalid(`${start(media.url)} is not an http address; pass the content as base64`);
}

/** The content as a URL that carries it, or its address on the web; undefined when neither is known. */
export function mediaUrl(part: Pick<MediaPart, 'data' | 'mediaType'>): string | undefined {
  const media = webMedia({ ...part, type: 'file' });
  if (media instanceof Unsendable) return undefined;
  return media.kind === 'url' ? media.url : `data:${media.mediaType};base64,${media.base64}`;
}

/** Media of a type that the API does not take. */
export function refusedType(part: MediaPart, accepted: string): Unsendable {
  const { mediaType } = part;
  const advice = `${accepted}, not ${mediaType}; convert it or leave it out`;
  return new Unsendable(`medium of type ${mediaType}`, new HoldfastError('INVALID_ARGUMENT', advice));
}

/** What can be sent as a list of one; otherwise reports the loss, or throws when the caller listens to none. */
export function orLoss<T extends object>(sent: T | Unsendable, id: string, { onLoss }: FormatOptions): T[] {
  if (!(sent instanceof Unsendable)) return [sent];
  if (!onLoss) throw sent.error;
  onLoss({ what: sent.what, why: sent.error.message, id });
  return [];
}

/** A medium as a part of a message: its type decides between image and file. */
export function mediaPart(mediaType: string, data: string, filename?: unknown): MediaPart {
  const type = mediaType === 'image' || mediaType.startsWith('image/') ? 'image' : 'file';
  return { type, mediaType, data, ...(typeof filename === 'string' && { filename }) };
}

/** A URL as a part: the content of a base64 `data:` URL, any other URL as it is. `type` is for a URL that names none. */
export function mediaPartOfUrl(url: string, type: string, filename?: unknown): MediaPart {
  const [head, named] = /^data:([^;,]*)[^,]{0,200};base64,/.exec(url) ?? [];
  return head === undefined
    ? mediaPart(type, url, filename)
    : mediaPart(named || type, url.slice(head.length), filename);
}

function invalid(advice: string): Unsendable {
  return new Unsendable('medium', new HoldfastError('INVALID_ARGUMENT', advice));
}

function start(data: string): string {
  return `"${data.slice(0, 100)}"`;
}
