/**
 * How many tokens a text is, roughly, at the speed of reading it once.
 *
 * Tokenizers first cut a text into words, numbers, runs of signs and runs of blanks, then each of those into the pieces they
 * know. This does the first half exactly enough and prices the second by length: a short word is one piece, a long one a
 * piece per few letters, digits go by threes, signs by pairs, a Chinese character is most of a piece. No tables, no regular
 * expressions, no state between calls; every text has a price, also one that makes real tokenizers throw.
 */

/**
 * Counts the tokens of a text.
 *
 * Contract: pure and total, and not far from linear in the length of the text: tools return megabytes of one letter. Any
 * tokenizer fits, e.g. `(text) => encoder.encode(text, [], []).length`; one that throws or returns anything but a
 * count is replaced, for that text, by the default.
 */
export type TokenEstimator = (text: string) => number;

const BLANK = 0;
const BREAK = 1;
const LOWER = 2;
const UPPER = 3;
const DIGIT = 4;
const SIGN = 5;
const WIDE = 6; // Chinese, Japanese, Korean: priced by the character
const LETTER = 7; // every other alphabet
const SYMBOL = 8; // emoji, arrows, boxes

const CLASSES = new Uint8Array(0x10000).fill(LETTER);
const mark = (from: number, to: number, kind: number): void => void CLASSES.fill(kind, from, to + 1);
mark(0, 0x7f, SIGN);
mark(0, 0x20, BLANK);
mark(0x0a, 0x0d, BREAK);
mark(0x30, 0x39, DIGIT);
mark(0x41, 0x5a, UPPER);
mark(0x61, 0x7a, LOWER);
mark(0x80, 0xbf, SYMBOL);
mark(0x2000, 0x2bff, SYMBOL);
mark(0x2e80, 0x9fff, WIDE);
mark(0xac00, 0xd7af, WIDE);
mark(0xd800, 0xdfff, SYMBOL); // each half of a pair is priced as one symbol
mark(0xf900, 0xfaff, WIDE);
mark(0xff00, 0xffef, WIDE);

/** What a run of one class costs by its length, in tokens; fitted to the counts of o200k_base. */
const PRICES: readonly ((length: number) => number)[] = [
  (n) => (n === 1 ? 0 : 1), // one blank belongs to the word after it
  () => 1,
  (n) => (n <= 7 ? 1 : n <= 13 ? 1.1 : n / 6),
  (n) => (n <= 2 ? 1 : n / 3.4),
  (n) => Math.ceil(n / 3),
  (n) => (n <= 2 ? 1 : n <= 8 ? n / 2.5 : 2.6 + n / 12),
  (n) => n * 0.72,
  (n) => n * 0.4,
  (n) => n,
];

/**
 * A state is a class and the length of its run so far; a character leads to the next state and costs what the longer run
 * costs more. Two tables instead of branches: a processor cannot guess where a word ends.
 */
const LONGEST = 16;
const KINDS = PRICES.length;
const START = KINDS * LONGEST * KINDS;
const NEXT = new Uint16Array(START + KINDS);
const COST = new Float64Array(START + KINDS);
/** A state is the offset of its row, so that row and column add up. */
const stateOf = (kind: number, length: number): number => (kind * LONGEST + Math.min(length, LONGEST) - 1) * KINDS;
const price = (kind: number, length: number): number => (length === 0 ? 0 : (PRICES[kind]?.(length) ?? 0));

for (let kind = 0; kind < KINDS; kind++) {
  for (let to = 0; to < KINDS; to++) {
    for (let length = 1; length <= LONGEST; length++) {
      const at = stateOf(kind, length) + to;
      NEXT[at] = stateOf(to, kind === to ? length + 1 : 1);
      COST[at] = kind !== to ? price(to, 1) : length < LONGEST ? price(to, length + 1) - price(to, length) : slope(to);
      if (kind === SIGN && to === BREAK) COST[at] = 0; // a line's end belongs to the signs before it
      if (kind === UPPER && to === LOWER) {
        // A capital starts a word: `fooBar` is two words, `HTTPServer` is HTTP and Server.
        NEXT[at] = stateOf(LOWER, 2);
        COST[at] = price(LOWER, 2) - (price(UPPER, length) - price(UPPER, length - 1));
      }
    }
  }
  NEXT[START + kind] = stateOf(kind, 1);
  COST[START + kind] = price(kind, 1);
}

/** What one more character costs in a run that is already long. */
function slope(kind: number): number {
  return (price(kind, 10 * LONGEST) - price(kind, LONGEST)) / (9 * LONGEST);
}

/** The default estimator: within a fifth of the real count on prose, code, JSON and Chinese. */
export function estimateTokens(text: string): number {
  const { length } = text;
  let tokens = 0;
  let state = START;
  for (let i = 0; i < length; i++) {
    const at = state + (CLASSES[text.charCodeAt(i)] as number);
    tokens += COST[at] as number;
    state = NEXT[at] as number;
  }
  return Math.ceil(tokens);
}
