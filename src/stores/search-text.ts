import { HoldfastError } from '../core/errors.ts';
import type { SessionEvent } from '../core/events.ts';

/**
 * What search means, for every store: which text of an event is searched, what a word is, when a query matches, and what a
 * hit shows. Words are cut and folded here and not by a database, so that the same query finds the same events everywhere.
 *
 * A word is a run of letters and digits, without case and without diacritics. Scripts that put no spaces between words
 * give one word per character, and a run of them in a query is a phrase, so any part of a sentence is found.
 */

/** Changes when the words of an event change: an index made by another version is made again. */
export const SEARCH_VERSION = 1;

export const DEFAULT_HITS = 20;

/** Longer runs (base64, hashes) are known by their beginning. */
const MAX_WORD_LENGTH = 64;
const EXCERPT_BEFORE = 60;
const EXCERPT_LENGTH = 180;

const WORD =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]\p{M}*|[[\p{L}\p{N}\p{M}]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]]+/gv;
const DIACRITICS = /[\u0300-\u036f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: plain ASCII is what this asks for.
const ASCII = /^[\x00-\x7f]*$/;

/** A word of a text and where it stands. */
interface Word {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

/** What is searched of an event: who said it, and its text. */
export interface SearchableText {
  readonly role: string;
  readonly text: string;
}

/** The searchable text of an event, if there is some: what was said, tool results, tool calls with their arguments. */
export function searchableText(event: SessionEvent): SearchableText | undefined {
  if (event.type === 'message/interrupted') {
    return withText(
      'assistant',
      listOf(event.blocks).map((block) => block?.text),
    );
  }
  if (event.type !== 'message/recorded') return undefined;
  const { role, content } = event.message ?? {};
  const calls = event.message?.role === 'assistant' ? listOf(event.message.toolCalls) : [];
  return withText(role, [
    ...listOf<(typeof content)[number]>(content).map((part) => (part?.type === 'text' ? part.text : undefined)),
    ...calls.flatMap((call) => [call?.name, call?.arguments]),
  ]);
}

/** The log keeps what it was given: an event may only claim to be a message. */
function listOf<T>(value: readonly T[] | undefined): readonly (T | undefined)[] {
  return Array.isArray(value) ? value : [];
}

function withText(role: unknown, parts: readonly unknown[]): SearchableText | undefined {
  const text = parts.filter((part) => typeof part === 'string' && part !== '').join('\n');
  return text === '' || typeof role !== 'string' ? undefined : { role, text };
}

/** The words of a text, folded, in order. */
export function wordsOf(text: string): readonly string[] {
  return locateWords(text).map(({ word }) => word);
}

function locateWords(text: string): readonly Word[] {
  const words: Word[] = [];
  for (const match of text.matchAll(WORD)) {
    const word = foldWord(match[0]);
    // A lone diacritic folds to nothing.
    if (word !== '') words.push({ word, start: match.index, end: match.index + match[0].length });
  }
  return words;
}

function foldWord(word: string): string {
  const lower = word.toLowerCase();
  const folded = ASCII.test(lower) ? lower : lower.normalize('NFD').replace(DIACRITICS, '');
  return folded.length > MAX_WORD_LENGTH ? folded.slice(0, MAX_WORD_LENGTH).toWellFormed() : folded;
}

/** Words that stand next to each other; the last may be only the beginning of one. */
export interface SearchTerm {
  readonly words: readonly string[];
  readonly prefix: boolean;
}

/**
 * Reads a query as a person types it: words that must all occur, "phrases" in quotes, and `begin*`. Nothing is a syntax
 * error; signs that are no word are passed over.
 */
export function parseQuery(query: string): readonly SearchTerm[] {
  if (typeof query !== 'string') throw new HoldfastError('INVALID_ARGUMENT', 'a search query must be text');
  const terms: SearchTerm[] = [];
  for (const [, phrase, word = '', star] of query.matchAll(/"([^"]*)"?|([^\s"*]+)(\*?)/g)) {
    const words = wordsOf(phrase ?? word);
    if (words.length > 0) terms.push({ words, prefix: star === '*' });
  }
  return terms;
}

/** The text around the first hit with the matched words marked, or undefined when a term does not occur. */
export function matchText(text: string, terms: readonly SearchTerm[]): string | undefined {
  const words = locateWords(text);
  const marked = new Set<number>();
  for (const term of terms) {
    let found = false;
    for (let i = 0; i + term.words.length <= words.length; i++) {
      if (!standsAt(words, i, term)) continue;
      found = true;
      for (let j = 0; j < term.words.length; j++) marked.add(i + j);
    }
    if (!found) return undefined;
  }
  return terms.length === 0
    ? undefined
    : excerpt(
        text,
        words.filter((_, i) => marked.has(i)),
      );
}

function standsAt(words: readonly Word[], position: number, { words: wanted, prefix }: SearchTerm): boolean {
  return wanted.every((word, j) => {
    const there = words[position + j]?.word;
    return prefix && j === wanted.length - 1 ? there?.startsWith(word) : there === word;
  });
}

function excerpt(text: string, marks: readonly Word[]): string {
  const first = marks[0]?.start ?? 0;
  const from = Math.max(0, first - EXCERPT_BEFORE);
  const to = Math.min(text.length, from + EXCERPT_LENGTH);
  let shown = from > 0 ? '…' : '';
  let position = from;
  for (const { start, end } of marks) {
    if (start >= to) break;
    const shownEnd = Math.min(end, to);
    shown += `${text.slice(position, start)}⟦${text.slice(start, shownEnd)}⟧`;
    position = shownEnd;
  }
  // A cut may fall inside a surrogate pair.
  return (shown + text.slice(position, to) + (to < text.length ? '…' : '')).toWellFormed();
}
