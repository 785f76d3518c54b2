import { HoldfastError } from '../core/errors.ts';
import type { SessionEvent } from '../core/log/events.ts';
import { recordTexts } from '../transcripts/record-text.ts';
import { recordedBytes } from './source-bytes.ts';

/**
 * The rules of search for every store: which text of an event is searched, what a word is, when a query matches, and what a hit
 * shows. Words are split and normalised here and not by a database, so that a query finds the same events in every store.
 *
 * A word is a run of letters and digits, without case and diacritics. In scripts without spaces every character is a word, and a run
 * of them in a query is a phrase, so any part of a sentence is found.
 */

/** Raise it when the words of an event change: an index of another version is rebuilt. */
export const SEARCH_VERSION = 1;

/** How many hits a search returns unless `limit` is given. */
export const DEFAULT_HITS = 20;

/** Longer runs (base64, hashes) are cut to this length. */
const MAX_WORD_LENGTH = 64;
const EXCERPT_BEFORE = 60;
const EXCERPT_LENGTH = 180;

const WORD =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]\p{M}*|[[\p{L}\p{N}\p{M}]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]]+/gv;
const DIACRITICS = /[\u0300-\u036f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: it matches all of ASCII.
const ASCII = /^[\x00-\x7f]*$/;

/** A word of a text and its position. */
interface Word {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

/** The searchable part of an event: the role of its author, and its text. */
export interface SearchableText {
  readonly role: string;
  readonly text: string;
}

/** The searchable text of an event, if any: messages, tool results, tool calls with their arguments. */
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

/**
 * The searchable texts of an event, in order: one for a message, one for each record of an imported session (D75). `contentOf` reads an
 * external content of the event's session; records in a content that is missing or damaged have no text.
 */
export function searchableTexts(
  event: SessionEvent,
  contentOf: (name: string) => string | undefined,
): readonly SearchableText[] {
  if (event.type !== 'source/recorded') {
    const text = searchableText(event);
    return text ? [text] : [];
  }
  if (event.role === 'other') return []; // what it holds is in the main file, or no conversation
  try {
    const bytes = recordedBytes(event, contentOf);
    const lines = bytes?.toString('utf8').split('\n') ?? [];
    return lines.flatMap(recordTexts);
  } catch {
    return [];
  }
}

/** The text around the first hit in each of an event's texts that match, from the last text to the first: a search shows the newest first. */
export function matchTexts(
  texts: readonly SearchableText[],
  terms: readonly SearchTerm[],
): readonly { readonly role: string; readonly excerpt: string }[] {
  return texts.toReversed().flatMap(({ role, text }) => {
    const excerpt = mayMatch(text, terms) ? matchText(text, terms) : undefined;
    return excerpt === undefined ? [] : [{ role, excerpt }];
  });
}

/** Whether a text can match: splitting a text into words takes far longer than looking for one. */
function mayMatch(text: string, terms: readonly SearchTerm[]): boolean {
  if (!ASCII.test(text)) return true;
  const lower = text.toLowerCase();
  return terms.every(({ words }) => words.every((word) => lower.includes(word)));
}

/** Stores accept malformed messages: the value may not be a list. */
function listOf<T>(value: readonly T[] | undefined): readonly (T | undefined)[] {
  return Array.isArray(value) ? value : [];
}

function withText(role: unknown, parts: readonly unknown[]): SearchableText | undefined {
  const text = parts.filter((part) => typeof part === 'string' && part !== '').join('\n');
  return text === '' || typeof role !== 'string' ? undefined : { role, text };
}

/** The normalised words of a text, in order. */
export function wordsOf(text: string): readonly string[] {
  return locateWords(text).map(({ word }) => word);
}

function locateWords(text: string): readonly Word[] {
  const words: Word[] = [];
  for (const match of text.matchAll(WORD)) {
    const word = foldWord(match[0]);
    // A lone diacritic becomes an empty word.
    if (word !== '') words.push({ word, start: match.index, end: match.index + match[0].length });
  }
  return words;
}

function foldWord(word: string): string {
  const lower = word.toLowerCase();
  const folded = ASCII.test(lower) ? lower : lower.normalize('NFD').replace(DIACRITICS, '');
  return folded.length > MAX_WORD_LENGTH ? folded.slice(0, MAX_WORD_LENGTH).toWellFormed() : folded;
}

/** Adjacent words; the last may be a prefix. */
export interface SearchTerm {
  readonly words: readonly string[];
  readonly prefix: boolean;
}

/**
 * Parses a query as a person types it: words that must all occur, "phrases" in quotes, and `prefix*`. No query is a syntax error;
 * characters that belong to no word are ignored.
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
    shown += `${unmarked(text.slice(position, start))}⟦${text.slice(start, shownEnd)}⟧`;
    position = shownEnd;
  }
  // The cut may be inside a surrogate pair.
  return (shown + unmarked(text.slice(position, to)) + (to < text.length ? '…' : '')).toWellFormed();
}

/** A text without the signs that mark hits. */
function unmarked(text: string): string {
  return text.replaceAll('⟦', '[').replaceAll('⟧', ']');
}
