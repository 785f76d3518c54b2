/** Control characters but tabs and ends of lines. A terminal that prints a document obeys them. */
const CONTROLS = /[^\P{Cc}\t\n\r]/gu;
const PICTURES = 0x2400;
const DELETE = 0x7f;

/** A text whose control characters are shown as their pictures: `␛` for escape. */
export function visibleControls(text: string): string {
  return text.replace(CONTROLS, (character) => {
    const code = character.charCodeAt(0);
    if (code === DELETE) return '\u2421';
    return code < 0x20 ? String.fromCharCode(PICTURES + code) : '\ufffd';
  });
}
