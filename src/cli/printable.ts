/**
 * Makes text from a model, a tool or a database safe for a terminal. Replaces every character that a terminal interprets by one
 * that it shows. Parses no sequences, so an escape sequence that arrives in two pieces, or without its end, is as harmless as a
 * complete one.
 *
 * - C0 controls and DEL, including ESC, carriage return and backspace: their symbols (`␛`, `␍`, `␈`)
 * - C1 controls (one character that means `ESC [` or `ESC ]`), bidirectional controls, line separators, invisible tags: `�`
 * - Line feeds and tabs stay; `\r\n` becomes `\n`.
 */
export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(OBEYED, picture);
}

/** The same in one line: the text cannot look like the next line of the output. */
export function printableLine(text: string): string {
  return printable(text.replace(/\s+/g, ' ').trim());
}

const OBEYED =
  /[^\P{Cc}\t\n]|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\u206a-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

const CONTROL_PICTURES = 0x2400;
const DELETE = 0x7f;
const PICTURE_OF_DELETE = '\u2421';

function picture(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code === DELETE) return PICTURE_OF_DELETE;
  return code < 0x20 ? String.fromCharCode(CONTROL_PICTURES + code) : '\ufffd';
}
