/**
 * The output of a terminal as pieces of text with a colour. Only colours and weights are applied; every other escape sequence becomes visible
 * text, so that nothing in it moves a cursor, sets a title or hides what was printed.
 */

/** A piece of text and the classes that show it. */
export interface AnsiPiece {
  readonly text: string;
  readonly className: string;
}

interface Style {
  readonly colour?: string | undefined;
  readonly ground?: string | undefined;
  readonly weight?: 'bold' | 'dim' | undefined;
  readonly isItalic?: boolean;
  readonly isUnderlined?: boolean;
}

const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with a control character
const COLOURS = /\u001b\[([\d;:]*)m/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that a page must not interpret
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

export function ansiPieces(output: string): readonly AnsiPiece[] {
  const text = output.replace(/\r\n?/g, '\n');
  const pieces: AnsiPiece[] = [];
  let style: Style = {};
  let end = 0;
  const add = (from: number, to: number): void => {
    if (to > from) pieces.push({ text: visible(text.slice(from, to)), className: classOf(style) });
  };
  for (const match of text.matchAll(COLOURS)) {
    add(end, match.index);
    style = applied(style, match[1] ?? '');
    end = match.index + match[0].length;
  }
  add(end, text.length);
  return pieces;
}

/** Control characters as their pictures: `␛` for escape. */
export function visible(text: string): string {
  return text.replace(CONTROLS, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '␡' : '�';
  });
}

function applied(style: Style, codes: string): Style {
  const numbers = codes.split(/[;:]/).map(Number);
  let next = style;
  for (let i = 0; i < numbers.length; i++) {
    const code = numbers[i] ?? 0;
    if (code === 38 || code === 48) {
      const [name, used] = extended(numbers.slice(i + 1));
      next = { ...next, [code === 38 ? 'colour' : 'ground']: name };
      i += used;
    } else next = withCode(next, code);
  }
  return next;
}

function withCode(style: Style, code: number): Style {
  if (code === 0) return {};
  if (code === 1) return { ...style, weight: 'bold' };
  if (code === 2) return { ...style, weight: 'dim' };
  if (code === 3) return { ...style, isItalic: true };
  if (code === 4) return { ...style, isUnderlined: true };
  if (code === 22) return { ...style, weight: undefined };
  if (code === 23) return { ...style, isItalic: false };
  if (code === 24) return { ...style, isUnderlined: false };
  if (code === 39) return { ...style, colour: undefined };
  if (code === 49) return { ...style, ground: undefined };
  const isColour = (code >= 30 && code <= 37) || (code >= 90 && code <= 97);
  if (isColour) return { ...style, colour: NAMES[code % 10] };
  const isGround = (code >= 40 && code <= 47) || (code >= 100 && code <= 107);
  return isGround ? { ...style, ground: NAMES[code % 10] } : style;
}

/** The nearest of the eight colours to one of 256 or of millions, and how many numbers describe it. */
function extended([kind, ...rest]: readonly number[]): readonly [name: string | undefined, used: number] {
  if (kind === 2) return [nearest(rest[0] ?? 0, rest[1] ?? 0, rest[2] ?? 0), 4];
  if (kind !== 5) return [undefined, 0];
  const index = rest[0] ?? 0;
  if (index < 16) return [NAMES[index % 8], 2];
  if (index >= 232) return [index < 244 ? 'black' : 'white', 2];
  const cube = index - 16;
  return [nearest(Math.floor(cube / 36) * 51, (Math.floor(cube / 6) % 6) * 51, (cube % 6) * 51), 2];
}

function nearest(red: number, green: number, blue: number): string | undefined {
  const half = Math.max(red, green, blue) / 2;
  return NAMES[(red > half ? 1 : 0) + (green > half ? 2 : 0) + (blue > half ? 4 : 0)];
}

function classOf({ colour, ground, weight, isItalic, isUnderlined }: Style): string {
  return [
    colour && `ansi-${colour}`,
    ground && `ansi-on-${ground}`,
    weight && `ansi-${weight}`,
    isItalic && 'italic',
    isUnderlined && 'underline',
  ]
    .filter(Boolean)
    .join(' ');
}
