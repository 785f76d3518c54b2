/**
 * Markdown of other authors inside of a Markdown document. Whatever a text contains, it ends where it ends: open fences are closed, HTML is
 * shown as text, headings stay below the document's own, and nothing of it is invisible.
 *
 * Only a part of CommonMark is read, so every construct that this reader could see in another way than a renderer is rewritten into one that both
 * see in the same way: fences are moved to the start of their line, between empty lines, and `<` is escaped unless it is certainly in code.
 */

const FENCE = /^((?:[ \t]|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))*)(`{3,}|~{3,})([^\n]*)$/;
/** A heading behind the marks of lists and quotes. After many spaces it is one only in a list; elsewhere it is code. */
const HEADING = /^([ \t]*)((?:(?:[-*+]|\d{1,9}[.)])[ \t]+|>[ \t]*)*)(#{1,6})(?=[ \t]|$)/;
const LIST = /^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]/;
/** A definition of a link or a footnote would not be shown. Its label may end in another line. */
const DEFINITION = /^((?:[ \t]|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))*)\[(?=[^\]\n]{1,999}\]:|[^\]\n]*$)/;
const UNDERLINE = /^[ \t]*(?:=+|-+)[ \t]*$/;
const QUOTE = /^ {0,3}> ?/;
const MAX_QUOTES = 20;

/** The text as Markdown that ends where it ends. Its headings are at least of this level. */
export function containedMarkdown(text: string, options: { readonly headings?: number } = {}): string {
  const lines = text.replace(/\r\n?/g, '\n').replaceAll('\0', '\ufffd').split('\n');
  return contained(lines, options.headings ?? 4, 0)
    .join('\n')
    .replace(/^(?:[ \t]*\n)+/, '')
    .trimEnd();
}

function contained(lines: readonly string[], headings: number, depth: number): string[] {
  const result: string[] = [];
  let paragraph: string[] = [];
  let isFenceBefore = false;
  let isInList = false;
  const endParagraph = (): void => {
    const [first] = paragraph;
    if (first === undefined) return;
    if (isFenceBefore) result.push('');
    isFenceBefore = false;
    isInList = paragraph.some((line) => LIST.test(line)) || (isInList && /^[ \t]/.test(first));
    for (const line of paragraphLines(paragraph, { headings, depth, isInList })) result.push(line);
    paragraph = [];
  };
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string;
    const fence = fenceIn(line);
    if (fence) {
      if (fence.marker !== '') paragraph.push(fence.marker);
      endParagraph();
      // Some renderers read a fence below a text, and a line of signs in it, as a heading.
      if (isFenceBefore || (result.at(-1) ?? '') !== '') result.push('');
      const end = closingFence(lines, i + 1, fence.run);
      const inside = lines.slice(i + 1, end);
      const run = longerThanMixed(fence.run, inside);
      result.push(`${run}${fence.info}`);
      for (const code of inside) result.push(dedented(code, fence.indent));
      result.push(run);
      isFenceBefore = true;
      i = end;
    } else if (line.trim() === '') {
      endParagraph();
      isFenceBefore = false;
      result.push('');
    } else paragraph.push(line);
  }
  endParagraph();
  return result;
}

interface Fence {
  /** The marker of a list item before it. */
  readonly marker: string;
  readonly indent: number;
  readonly run: string;
  readonly info: string;
}

function fenceIn(line: string): Fence | undefined {
  const [, before = '', run = '', info = ''] = FENCE.exec(line) ?? [];
  if (run === '' || (run.startsWith('`') && info.includes('`'))) return undefined;
  return {
    marker: before.trim() === '' ? '' : before.trimEnd(),
    indent: before.length,
    run,
    info: info.trim() === '' ? '' : info.trimEnd(),
  };
}

/** The line that closes a fence; the end of the text if none does. */
function closingFence(lines: readonly string[], from: number, run: string): number {
  const sign = run[0] as string;
  for (let i = from; i < lines.length; i++) {
    const line = (lines[i] as string).trim();
    if (line.length >= run.length && line === sign.repeat(line.length)) return i;
  }
  return lines.length;
}

/** The fence, longer than any line that mixes both signs: some renderers end a fence there. */
function longerThanMixed(run: string, inside: readonly string[]): string {
  let length = run.length;
  for (const line of inside) {
    const [, mixed = ''] = /^[ \t]*((?:`+~|~+`)[`~]*)/.exec(line) ?? [];
    length = Math.max(length, mixed.length + (mixed === '' ? 0 : 1));
  }
  return (run[0] as string).repeat(length);
}

function dedented(line: string, indent: number): string {
  let from = 0;
  while (from < indent && (line[from] === ' ' || line[from] === '\t')) from++;
  return line.slice(from);
}

/** Lines without an empty one between them and without a fence. */
function paragraphLines(
  lines: readonly string[],
  { headings, depth, isInList }: { readonly headings: number; readonly depth: number; readonly isInList: boolean },
): string[] {
  const isSure = lines.every((line) => codeSpans(line) !== undefined);
  const result: string[] = [];
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string;
    if (QUOTE.test(line)) {
      let end = i;
      while (end < lines.length && QUOTE.test(lines[end] as string)) end++;
      const inner = lines.slice(i, end).map((quoted) => quoted.replace(QUOTE, ''));
      // Deeper quotations are written as text. Code in a quote ends with it, so the lines around it do not matter.
      const written =
        depth < MAX_QUOTES
          ? contained(inner, headings, depth + 1)
          : inner.map((quoted) => lowered(shownLine(quoted, false), headings, true));
      // Without an empty line some renderers read the first line as part of the text or the list above.
      if ((result.at(-1) ?? '') !== '') result.push('');
      for (const quoted of written) result.push(quoted === '' ? '>' : `> ${quoted}`);
      i = end - 1;
      continue;
    }
    const previous = result.at(-1) ?? '';
    // A line of signs below a text would make it a heading.
    if (UNDERLINE.test(line) && previous !== '')
      result.push(line.includes('=') ? `\\${line.trimStart()}` : '', ...(line.includes('=') ? [] : [line]));
    else result.push(lowered(shownLine(line, isSure), headings, isInList || depth > 0));
  }
  return result;
}

function lowered(line: string, headings: number, isInList: boolean): string {
  return line.replace(HEADING, (all: string, indent: string, marks: string, signs: string) => {
    if (!isInList && !/^ {0,3}$/.test(indent)) return all;
    const before = isInList || marks !== '' ? indent + marks : '';
    return before + '#'.repeat(Math.min(6, Math.max(headings, signs.length + headings - 1)));
  });
}

/** A line whose `<` are text, except in its code. */
function shownLine(line: string, isSure: boolean): string {
  const visible = line.replace(DEFINITION, '$1\\[');
  const spans = isSure ? (codeSpans(visible) ?? []) : [];
  let result = '';
  let from = 0;
  for (const [start, end] of spans) {
    result += escapedTags(visible.slice(from, start)) + visible.slice(start, end);
    from = end;
  }
  return result + escapedTags(visible.slice(from));
}

/** Tags as text, pictures as links, and links only to where a reader may go. */
function escapedTags(text: string): string {
  return text
    .replace(/<(?=[A-Za-z/!?])/g, '&lt;')
    .replace(/!(?=\[)/g, '\\!')
    .replace(/\](?=\([ \t]{0,9}(?!https?:|mailto:)[^\s)/?#]{0,40}[:&\\])/gi, ']\\');
}

/**
 * The code in a line, from its first backtick to its last; `undefined` if a renderer could see it in another way: a run of backticks without a
 * counterpart in the line, an escaped one, or the sign of a table in the code.
 */
function codeSpans(line: string): [number, number][] | undefined {
  if (!line.includes('`')) return [];
  if (line.includes('~~~')) return undefined; // some renderers read no code after it
  const runs = [...line.matchAll(/`+/g)].map(({ index, 0: run }) => ({ start: index, length: run.length }));
  /** The next run of the same length, for each. */
  const next = new Array<number>(runs.length);
  const last = new Map<number, number>();
  for (let i = runs.length - 1; i >= 0; i--) {
    const { length } = runs[i] as { length: number };
    next[i] = last.get(length) ?? -1;
    last.set(length, i);
  }
  const spans: [number, number][] = [];
  for (let i = 0; i < runs.length; i++) {
    const opening = runs[i] as { start: number; length: number };
    const closing = runs[next[i] as number];
    if (!closing || line[opening.start - 1] === '\\') return undefined;
    const span: [number, number] = [opening.start, closing.start + closing.length];
    if (line.slice(...span).includes('|')) return undefined;
    spans.push(span);
    i = next[i] as number;
  }
  return spans;
}

/** A text of one line as Markdown that shows it, whatever it contains. */
export function escapedMarkdown(text: string): string {
  return oneLine(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replace(/[\\`*_{}[\]()#>|~$!]/g, '\\$&')
    .replace(
      /(?:https?|ftp|www)(?=:\/\/|\.)/gi,
      (scheme) => `${scheme.slice(0, -1)}&#${scheme.codePointAt(scheme.length - 1)};`,
    );
}

/** A text of one line for HTML in a Markdown document. */
export function escapedSummary(text: string): string {
  return oneLine(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** Code in a line of Markdown. */
export function inlineCode(text: string): string {
  const plain = oneLine(text);
  if (plain === '') return '';
  const fence = '`'.repeat(longestRun(plain) + 1);
  return plain.startsWith('`') || plain.endsWith('`') ? `${fence} ${plain} ${fence}` : `${fence}${plain}${fence}`;
}

/** A block of code with a fence longer than any in the text, so that no text ends its own. */
export function fenced(text: string, language = ''): string {
  const fence = '`'.repeat(Math.max(2, longestRun(text)) + 1);
  const safe = text.replace(/\r\n?/g, '\n').replaceAll('\0', '\ufffd');
  return `${fence}${/^[\w+#-]*$/.test(language) ? language : ''}\n${safe}\n${fence}`;
}

/** The number of backticks that stand side by side at most. */
function longestRun(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}

export function oneLine(text: string): string {
  return text.replaceAll('\0', '\ufffd').replace(/\s+/g, ' ').trim();
}
