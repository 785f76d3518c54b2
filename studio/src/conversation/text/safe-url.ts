/** Addresses that a model, a tool or a transcript wrote. Everything that is not listed here is shown as text. */

const LINKS = new Set(['http:', 'https:', 'mailto:']);
const IMAGES = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[\w+/=\s]+$/i;
const IMAGE_TYPES = /^image\/(?:png|jpeg|gif|webp|avif)$/i;

/** The address of a link that may be followed; undefined for scripts, data and everything unknown. */
export function safeLink(address: string | undefined): string | undefined {
  if (address === undefined || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  return LINKS.has(url.protocol) ? url.href : undefined;
}

/** The address of an image that is part of the conversation. Images from elsewhere are not loaded: a request would reveal the reader. */
export function safeImage(address: string | undefined): string | undefined {
  return address !== undefined && IMAGES.test(address) ? address : undefined;
}

/** An attachment's data as such an address, if it is an image whose bytes are here. */
export function imageOf(mediaType: string, data: string | undefined): string | undefined {
  if (data === undefined || !IMAGE_TYPES.test(mediaType)) return undefined;
  return safeImage(data.startsWith('data:') ? data : `data:${mediaType};base64,${data}`);
}
