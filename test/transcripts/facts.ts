/**
 * What is known about the transcripts that people have, one fact at a time, and the tests whose fixtures show each. `facts.test.ts` checks
 * that the tests exist. What agents do without leaving a trace in a transcript is no fact of these lists.
 */

/** A test that shows a fact, by its title in the source; `rows` are those of its table that do. */
export interface TestOfFact {
  /** Below `test/`. */
  readonly file: string;
  readonly title: string;
  readonly rows: readonly string[];
}

/** A fact about the files of one agent. */
export type TranscriptFact = {
  readonly agent: 'claude-code' | 'codex';
  readonly fact: string;
  readonly tests: readonly TestOfFact[];
} & (
  | {
      /** The code before the fact was known got it wrong: each of the tests, or each of their rows, fails there. */
      readonly before: 'fails';
    }
  | {
      /** That code was right by chance or by design. */
      readonly before: 'handled';
      /** The code that the tests fail without. */
      readonly guard: string;
    }
);

/** Names the tests of a file. */
export function testsIn(file: string): (title: string, ...rows: readonly string[]) => TestOfFact {
  return (title, ...rows) => ({ file, title, rows });
}

/**
 * What a source lacks of a test: its title, which is the first argument of a call, or rows of its table, which are strings. A row that
 * ends with … is the start of one.
 */
export function missingIn(source: string, { title, rows }: TestOfFact): readonly string[] {
  const code = source.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '').replaceAll(/\(\s+/g, '(');
  const holds = (before: string, text: string, after: string): boolean =>
    QUOTES.some((quote) => {
      const end = text.endsWith('…') ? '' : `${quote}${after}`;
      return code.includes(`${before}${quote}${text.replace(/…$/, '').replaceAll(quote, `\\${quote}`)}${end}`);
    });
  return [...(holds('(', title, ',') ? [] : [title]), ...rows.filter((row) => !holds('', row, ''))];
}

const QUOTES = ["'", '"', '`'] as const;
