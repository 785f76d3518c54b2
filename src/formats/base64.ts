/** Base64 and UTF-8 without a host: the pure folders have neither `Buffer` nor `TextEncoder`. */

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const VALUES: ReadonlyMap<string, number> = new Map(
  [...ALPHABET, '-', '_'].map((letter, i) => [letter, i < 64 ? i : i - 2]),
);

/** A text's UTF-8 bytes in base64. Half characters become `�`. */
export function base64OfText(text: string): string {
  return base64OfEscapes(encodeURIComponent(text.toWellFormed()));
}

/** The bytes of a text with percent escapes, in base64. A percent sign that starts no escape stands for itself. */
export function base64OfEscapes(text: string): string {
  const bytes: number[] = [];
  for (const [piece, hex] of text.matchAll(/%([0-9A-Fa-f]{2})|[\s\S][\udc00-\udfff]?/g)) {
    if (hex !== undefined) bytes.push(Number.parseInt(hex, 16));
    else if (piece <= '\x7f') bytes.push(piece.charCodeAt(0));
    else
      for (const [, byte] of encodeURIComponent(piece.toWellFormed()).matchAll(/%(..)/g))
        bytes.push(Number.parseInt(byte as string, 16));
  }
  let base64 = '';
  for (let i = 0; i < bytes.length; i += 3) {
    const [a = 0, b, c] = bytes.slice(i, i + 3);
    const bits = (a << 16) | ((b ?? 0) << 8) | (c ?? 0);
    base64 += letter(bits >> 18) + letter(bits >> 12);
    base64 += (b === undefined ? '=' : letter(bits >> 6)) + (c === undefined ? '=' : letter(bits));
  }
  return base64;
}

function letter(bits: number): string {
  return ALPHABET.charAt(bits & 63);
}

/** A sequence of UTF-8, or a byte that belongs to none. */
const SEQUENCE = /[^\x80-\xff]+|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|[\s\S]/g;

/** The text whose UTF-8 bytes the base64 holds. Bytes that are no UTF-8 become `�`. */
export function textOfBase64(base64: string): string {
  let bytes = '';
  let bits = 0;
  let count = 0;
  for (const character of base64) {
    const value = VALUES.get(character);
    if (value === undefined) continue;
    bits = ((bits << 6) | value) & 0xffff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += String.fromCharCode((bits >> count) & 0xff);
  }
  return bytes.replaceAll(SEQUENCE, (sequence) => {
    if (sequence <= '\x7f') return sequence;
    try {
      return decodeURIComponent(sequence.replaceAll(/[\s\S]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`));
    } catch {
      return '\ufffd';
    }
  });
}
