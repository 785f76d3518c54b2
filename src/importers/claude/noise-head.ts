const FIRST_KEY = '{"parentUuid":"';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * The bytes of a line of noise from the end of its first value, the id of another line, up to its kind. A line with the same bytes there is
 * noise of the same kind, whatever that id is: comparing them is faster than decoding the line.
 */
export class NoiseHead {
  readonly kind: string;
  readonly #rest: Buffer;

  private constructor(kind: string, rest: Buffer) {
    this.kind = kind;
    this.#rest = rest;
  }

  /** The head of a line, given its first characters, one for each byte; `undefined` when the line starts with another key. */
  static of(prefix: string, kind: string): NoiseHead | undefined {
    const end = prefix.startsWith(FIRST_KEY) ? prefix.indexOf('"', FIRST_KEY.length) : -1;
    const type = prefix.indexOf(`"type":"${kind}"`, end);
    if (end < 0 || type < 0) return undefined;
    return new NoiseHead(kind, Buffer.from(prefix.slice(end, type + kind.length + 9), 'latin1'));
  }

  /** Whether the line between two positions has the same head. Compares the few bytes of its start here: a call takes longer. */
  matches(buffer: Buffer, start: number, end: number): boolean {
    const value = start + FIRST_KEY.length;
    if (value + this.#rest.length > end) return false;
    for (let i = 0; i < FIRST_KEY.length; i++) if (buffer[start + i] !== FIRST_KEY.charCodeAt(i)) return false;
    let quote = value;
    while (quote < end && buffer[quote] !== QUOTE) quote++;
    const rest = quote + this.#rest.length;
    if (rest > end || buffer[quote - 1] === BACKSLASH) return false;
    return buffer.compare(this.#rest, 0, this.#rest.length, quote, rest) === 0;
  }
}
