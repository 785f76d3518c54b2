/**
 * Recognises lines that were written before: a resumed session may write its lines again, under other ids. A copy has the time of its
 * original, its response and the start of its content.
 *
 * Lines arrive almost in the order of their times, so a line that is newer than all others is new without a search. Looking every line up by a
 * text of its own took a tenth of the time of reading a session.
 */
import { asName, asObject, asText, type Json } from '../json-access.ts';
import { contentBlocks } from './content.ts';
import type { ClaudeEntry } from './entry.ts';

const HEAD_LENGTH = 64;

/** What a line has in common with its copies. */
interface Original {
  readonly time: string;
  /** The response that the line is a part of, or the type of the line. */
  readonly source: string;
  readonly digest: number;
}

export class WrittenLines {
  /** The first line of each time, as long as times grow. */
  readonly #originals: Original[] = [];
  readonly #positions: number[] = [];
  /** The lines that are not newer than all before them. */
  readonly #others = new Map<string, number>();

  /**
   * Adds a line at a position; returns the position of the line that it is a copy of, if there is one. Lines without a time of their own are never copies.
   */
  add(entry: ClaudeEntry, position: number): number | undefined {
    const line = originalOf(entry);
    if (line === undefined) return undefined;
    const newest = this.#originals.at(-1);
    if (newest === undefined || line.time > newest.time) {
      this.#originals.push(line);
      this.#positions.push(position);
      return undefined;
    }
    const index = this.#indexOf(line.time);
    const original = this.#originals[index];
    if (original?.source === line.source && original.digest === line.digest) return this.#positions[index];
    const key = `${line.time} ${line.digest} ${line.source}`;
    const known = this.#others.get(key);
    if (known === undefined) this.#others.set(key, position);
    return known;
  }

  /** The index of the line with this time among those whose times grow, or -1. */
  #indexOf(time: string): number {
    let low = 0;
    let high = this.#originals.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const found = this.#originals[middle]?.time ?? '';
      if (found === time) return middle;
      if (found < time) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }
}

function originalOf(entry: ClaudeEntry): Original | undefined {
  const time = asName(entry.raw.timestamp);
  const texts = time === undefined ? undefined : textsOf(entry);
  if (time === undefined || texts === undefined) return undefined;
  let digest = 0;
  for (const text of texts) digest = digestOf(text, Math.imul(digest, 31) + text.length);
  return { time, source: asText(entry.message?.id) ?? entry.type, digest };
}

/** The texts that distinguish a line from others of the same time; `undefined` for lines that hold nothing of the conversation. */
function textsOf({ type, message, raw }: ClaudeEntry): readonly string[] | undefined {
  switch (type) {
    case 'assistant':
    case 'user':
      return message && contentBlocks(message.content).map(blockText);
    case 'attachment':
      return textFields(asObject(raw.attachment));
    case 'system':
      return textFields({ subtype: raw.subtype, content: raw.content, toolUseID: raw.toolUseID });
    default:
      return undefined;
  }
}

function blockText(block: Json): string {
  const id = asText(block.id) ?? asText(block.tool_use_id);
  return id ?? asText(block.text) ?? asText(block.thinking) ?? asText(asObject(block.source)?.data) ?? '';
}

function textFields(fields: Json | undefined): readonly string[] {
  return Object.values(fields ?? {}).flatMap((value) => asText(value) ?? []);
}

/** A number for the start of a text. */
function digestOf(text: string, seed: number): number {
  let digest = seed;
  const length = Math.min(text.length, HEAD_LENGTH);
  for (let i = 0; i < length; i++) digest = Math.imul(digest ^ text.charCodeAt(i), 0x01000193);
  return digest;
}
