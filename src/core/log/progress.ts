/**
 * The progress of a call while it runs (D62).
 *
 *     ctx.progress ──▶ ToolProgress, to listeners ─────────────────────┐
 *            └───────▶ chunks of the call's draft, in the store ───────┴──▶ ProgressView ──▶ CallProgress, on the call's block
 *
 * A chunk's delta is one line of JSON (the position of the text, percent and data), followed by the text without escaping, so that the
 * chunk's length is close to the text's. Every write repeats percent and data: stores drop the oldest chunks first.
 */

import type { DraftPosition } from './draft-position.ts';

/** The maximum length of a call's progress in characters, stored or shown: a tool may stream megabytes, and readers need the newest. */
export const MAX_PROGRESS_LENGTH: number = 64 * 1024;

/** What a tool reports with `ctx.progress`. */
export interface ProgressReport {
  /** Appended unchanged to the text reported so far: lines include their own line breaks. */
  readonly text?: string;
  /** How much is done, from 0 to 100; replaces the previous one. */
  readonly percent?: number;
  /** Plain JSON of at most 16,384 characters; replaces the previous one. */
  readonly data?: unknown;
}

/** The progress that a call has reported so far. */
export interface CallProgress {
  /** The newest part of the text, at most `MAX_PROGRESS_LENGTH` characters. */
  readonly text: string;
  readonly percent?: number;
  readonly data?: unknown;
}

/** One report, or several that were written together, and the position of their text. */
export interface ProgressPiece extends CallProgress {
  /** The run of the tool's function, `<fence>.<number>`: the first piece of a later run replaces the progress of earlier runs. */
  readonly run: string;
  /** Where the text begins within its run, in UTF-16 units. */
  readonly offset: number;
  /** The run is of `reconcile` or `compensate`: it continues the handler's progress. */
  readonly continues?: true;
}

/** The progress of a running call. Not in the log, and never sent to a provider. */
export interface ToolProgress extends ProgressPiece {
  readonly type: 'tool/progress';
  readonly evaluationId: string;
  readonly conversationId: string;
  readonly turn: number;
  readonly callId: string;
  readonly attempt: number;
  readonly toolName: string;
  /** The position of the stored chunk that it was read from; absent when it comes from the running tool. */
  readonly position?: DraftPosition;
}

/** Encodes a piece as the delta of a draft chunk. */
export function encodeProgress({ text, ...head }: ProgressPiece): string {
  return `${JSON.stringify(head)}\n${text}`;
}

/** Decodes a chunk's delta; undefined when `encodeProgress` did not write it. */
export function decodeProgress(delta: string): ProgressPiece | undefined {
  const end = delta.indexOf('\n');
  if (end < 0) return undefined;
  try {
    const head = JSON.parse(delta.slice(0, end)) as Partial<ProgressPiece> | null;
    if (typeof head?.run !== 'string' || typeof head.offset !== 'number') return undefined;
    return { ...head, run: head.run, offset: head.offset, text: delta.slice(end + 1) };
  } catch {
    return undefined;
  }
}

/** A stored piece: its number, and how much of the store's limit it takes. */
export interface StoredPosition {
  readonly n?: number | undefined;
  readonly length: number;
}

/** Combines pieces, live and stored. Drops the oldest pieces by the same rule as the stores. */
export class ProgressView {
  #run = '0.0';
  #end = 0;
  #newest = 0;
  #shown: CallProgress = { text: '' };
  #pieces: { readonly length: number; readonly characters: number }[] = [];
  #length = 0;

  get progress(): CallProgress {
    return this.#shown;
  }

  /** False when the piece was already added. */
  add(piece: ProgressPiece, { n, length }: StoredPosition = { length: piece.text.length }): boolean {
    const order = compareRuns(piece.run, this.#run);
    if (order < 0) return false;
    if (order > 0) this.#begin(piece);
    if (n !== undefined && n <= this.#newest) return false;
    this.#newest = n ?? this.#newest;
    const end = piece.offset + piece.text.length;
    if (end < this.#end) return false;
    const text = piece.offset < this.#end ? piece.text.slice(this.#end - piece.offset) : piece.text;
    this.#end = end;
    if (length > 0) this.#pieces.push({ length, characters: text.length });
    this.#length += length;
    const { percent = this.#shown.percent, data = this.#shown.data } = piece;
    this.#shown = {
      text: this.#bound(this.#shown.text + text),
      ...(percent !== undefined && { percent }),
      ...(data !== undefined && { data }),
    };
    return true;
  }

  #begin({ run, continues }: ProgressPiece): void {
    this.#run = run;
    this.#end = 0;
    this.#newest = 0;
    if (continues) return;
    this.#shown = { text: '' };
    this.#pieces = [];
    this.#length = 0;
  }

  #bound(text: string): string {
    let dropped = 0;
    let characters = 0;
    while (this.#length > MAX_PROGRESS_LENGTH && dropped < this.#pieces.length - 1) {
      const oldest = this.#pieces[dropped++];
      this.#length -= oldest?.length ?? 0;
      characters += oldest?.characters ?? 0;
    }
    if (dropped === 0) return text;
    this.#pieces.splice(0, dropped);
    return text.slice(characters);
  }
}

/** Orders runs by fence, then by number. */
function compareRuns(a: string, b: string): number {
  const [fence = 0, number = 0] = a.split('.').map(Number);
  const [otherFence = 0, otherNumber = 0] = b.split('.').map(Number);
  return fence - otherFence || number - otherNumber;
}
