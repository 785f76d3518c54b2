/**
 * Splits a text into lines, at `\n` and at nothing else: a line may hold other characters that some readers take for its end. A byte order
 * mark before the first line is left out.
 */
export class TextLines {
  /** Whether the newest line has no newline. */
  isTorn = false;
  readonly #text: string;
  #position: number;

  constructor(text: string) {
    this.#text = text;
    this.#position = text.startsWith('\uFEFF') ? 1 : 0;
  }

  /** The next line; `undefined` after the last one. */
  next(): string | undefined {
    const start = this.#position;
    if (start >= this.#text.length) return undefined;
    const newline = this.#text.indexOf('\n', start);
    this.isTorn = newline < 0;
    const end = this.isTorn ? this.#text.length : newline;
    this.#position = end + 1;
    return this.#text.slice(start, end);
  }
}

/** The first lines of a text. */
export function* firstLines(text: string, count: number): Generator<string> {
  const lines = new TextLines(text);
  for (let line = lines.next(), n = 0; line !== undefined && n < count; line = lines.next(), n++) yield line;
}

const MAX_LENGTH = 100;

/** The first line of a text as a title, cut after a whole character; `undefined` when it is blank. */
export function sessionTitle(text: string | undefined): string | undefined {
  const line = text?.trim().split('\n', 1)[0]?.trim();
  if (line === undefined || line === '') return undefined;
  const characters = [...line.slice(0, 2 * MAX_LENGTH)];
  return characters.length <= MAX_LENGTH ? line : `${characters.slice(0, MAX_LENGTH).join('')}…`;
}
