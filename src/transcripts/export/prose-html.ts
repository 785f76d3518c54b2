/**
 * What people and models write, as HTML: paragraphs, headings, code, tables and bold text are set; everything else stays as it was written. All
 * text is escaped. No link, no image and no HTML of the text comes through: what a model says is data.
 */
import { withoutOuterLines } from './thread-view.ts';

/** Text as HTML shows it, whatever is in it. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
    .replaceAll('\0', '\ufffd');
}

/** A block of code. */
export function pre(text: string): string {
  return `<pre><code>${escapeHtml(text)}</code></pre>`;
}

/** A diff, each changed line marked. */
export function diffHtml(text: string): string {
  const lines = text.split('\n').map((line) => {
    const kind = line.startsWith('+')
      ? 'added'
      : line.startsWith('-')
        ? 'removed'
        : /^(?:@@|\*\*\* )/.test(line)
          ? 'place'
          : '';
    return kind === '' ? `${escapeHtml(line)}\n` : `<span class="${kind}">${escapeHtml(line)}\n</span>`;
  });
  return `<pre class="diff"><code>${lines.join('')}</code></pre>`;
}

const FENCE = /^[ \t]*(`{3,}|~{3,}(?!~))([^\n`]*)$/;
const HEADING = /^ {0,3}#{1,6}[ \t]+(?=\S)/;

/** A text with its code, headings and tables set; everything else as it was written. */
export function prose(text: string): string {
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  let result = '';
  let plain: string[] = [];
  const endPlain = (): void => {
    const said = withoutOuterLines(plain.join('\n').trimEnd());
    if (said.trim() !== '') result += `<div class="prose">${inline(said)}</div>`;
    plain = [];
  };
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string;
    const [, fence] = FENCE.exec(line) ?? [];
    const heading = HEADING.exec(line);
    if (fence !== undefined) {
      endPlain();
      const end = closing(lines, i + 1, fence);
      result += pre(dedented(lines.slice(i + 1, end), line.length - line.trimStart().length));
      i = end;
    } else if (heading) {
      endPlain();
      result += `<div class="heading">${inline(line.slice(heading[0].length))}</div>`;
    } else if (line.includes('|') && (lines[i + 1] ?? '').includes('|') && isDelimiter(lines[i + 1] as string)) {
      endPlain();
      let end = i + 2;
      while (end < lines.length && (lines[end] as string).includes('|')) end++;
      result += table(line, lines.slice(i + 2, end));
      i = end - 1;
    } else plain.push(line);
  }
  endPlain();
  return result;
}

/** The line below the head of a table: `| --- | :-: |`. */
function isDelimiter(line: string): boolean {
  return cells(line).every((cell) => /^:?-+:?$/.test(cell));
}

function closing(lines: readonly string[], from: number, fence: string): number {
  for (let i = from; i < lines.length; i++) {
    const line = (lines[i] as string).trim();
    if (line.length >= fence.length && line === (fence[0] as string).repeat(line.length)) return i;
  }
  return lines.length;
}

function dedented(lines: readonly string[], indent: number): string {
  return lines.map((line) => line.slice(Math.min(indent, line.length - line.trimStart().length))).join('\n');
}

function table(head: string, rows: readonly string[]): string {
  const row = (line: string, cell: 'th' | 'td'): string =>
    `<tr>${cells(line)
      .map((text) => `<${cell}>${inline(text)}</${cell}>`)
      .join('')}</tr>`;
  return `<table><thead>${row(head, 'th')}</thead><tbody>${rows.map((line) => row(line, 'td')).join('')}</tbody></table>`;
}

function cells(line: string): string[] {
  return line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

/** Code and bold text of a line or of several. */
function inline(text: string): string {
  const pieces = text.split(/`([^`\n]+)`/);
  return pieces.map((piece, i) => (i % 2 === 1 ? `<code>${escapeHtml(piece)}</code>` : bold(piece))).join('');
}

function bold(text: string): string {
  const pieces = text.split(/\*\*(?=\S)([^*\n]+)\*\*/);
  return pieces.map((piece, i) => (i % 2 === 1 ? `<b>${escapeHtml(piece)}</b>` : escapeHtml(piece))).join('');
}
