import type { MediaPart } from '../../core/messages.ts';

/** Where the content of a medium is: in the text itself, at an address, or not at hand: apart in a store (D58), or a file. */
export type MediaSource =
  | { readonly kind: 'base64'; readonly data: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'stored' };

const DATA_URL = /^data:[^,]{0,200};base64,/;

/** Reads where a medium is. */
export function mediaSource({ data }: Pick<MediaPart, 'data'>): MediaSource {
  if (data.startsWith('sha256:')) return { kind: 'stored' };
  if (/^https?:\/\//i.test(data)) return { kind: 'url', url: data };
  const head = DATA_URL.exec(data);
  if (head) return { kind: 'base64', data: data.slice(head[0].length) };
  if (data.startsWith('data:')) return { kind: 'url', url: data };
  // Base64 has no colon: this is the address of something on another machine, or of this one's files.
  return data.includes(':') ? { kind: 'stored' } : { kind: 'base64', data };
}

/** The content as a URL that carries it, or the address it has; undefined when it is kept elsewhere. */
export function mediaUrl(part: Pick<MediaPart, 'data' | 'mediaType'>): string | undefined {
  const source = mediaSource(part);
  if (source.kind === 'stored') return undefined;
  return source.kind === 'url' ? source.url : `data:${part.mediaType};base64,${source.data}`;
}
