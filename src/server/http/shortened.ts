/**
 * Long texts in a response are cut, so that a page of a very large session stays small. What was cut is named, and is read in pieces by
 * `GET /sessions/:id/blocks/:blockId` and `GET /sessions/:id/texts/:messageId`.
 */

/** A text that was cut: where it stands in the value, and how long it is. */
export interface CutText {
  /** Names of fields and positions in lists, from the outside in. */
  readonly path: readonly (string | number)[];
  readonly length: number;
}

const MAX_DEPTH = 64;
/** Fields that name something: a page needs them whole. */
const NAMES = /^(?:id|type|subtype|role|status|fate|at|timestamp|mediaType)$|Id$/;

/** A copy of a JSON value in which no text is longer than `most`, and the texts that were cut. The same value when nothing was. */
export function withShortTexts<T>(value: T, most: number): { readonly value: T; readonly cut: readonly CutText[] } {
  const cut: CutText[] = [];
  const visit = (item: unknown, path: readonly (string | number)[]): unknown => {
    if (typeof item === 'string') {
      if (item.length <= most) return item;
      cut.push({ path, length: item.length });
      return item.slice(0, most).toWellFormed();
    }
    if (typeof item !== 'object' || item === null || path.length === MAX_DEPTH) return item;
    const before = cut.length;
    if (Array.isArray(item)) {
      const items = item.map((each, i) => visit(each, [...path, i]));
      return cut.length === before ? item : items;
    }
    const fields = Object.entries(item).map(
      ([name, each]) => [name, isName(name, each) ? each : visit(each, [...path, name])] as const,
    );
    return cut.length === before ? item : Object.fromEntries(fields);
  };
  return { value: visit(value, []) as T, cut };
}

function isName(field: string, value: unknown): boolean {
  return typeof value === 'string' && NAMES.test(field);
}

/** A piece of a text. Positions are UTF-16 units. */
export interface TextPiece {
  readonly text: string;
  readonly from: number;
  /** The length of the whole text. */
  readonly length: number;
  /** Where the next piece starts; absent for the last one. */
  readonly next?: number;
}

/** The piece of a text from a position; it does not end inside a surrogate pair. */
export function pieceOf(text: string, from: number, limit: number): TextPiece {
  const start = Math.min(from, text.length);
  let end = Math.min(text.length, start + limit);
  const last = text.charCodeAt(end - 1);
  if (end < text.length && end - start > 1 && last >= 0xd800 && last <= 0xdbff) end--;
  return { text: text.slice(start, end), from: start, length: text.length, ...(end < text.length && { next: end }) };
}
