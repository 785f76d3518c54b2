/**
 * The live tail of a session (D74): committed events and pieces of drafts in one ordered stream, from whichever process writes them.
 *
 *     store ─▶ TailSource: chunks after the place, then events after it ─▶ in order ─▶ TailItems
 *        └── watch ──▶ the next round
 *
 * A place is the last seq and the last chunk that were read; its cursor continues a tail that was cut off. Nothing is kept for a slow
 * reader: each round reads what lies after its place now.
 */

import { HoldfastError } from '../../core/errors.ts';
import { frozen } from '../../core/frozen.ts';
import { compareDraftPositions, type DraftPosition } from '../../core/log/draft-position.ts';
import { isBuiltInEvent, type SessionEvent } from '../../core/log/events.ts';
import type { ToolProgress } from '../../core/log/progress.ts';
import type { DraftReset, DraftsReplaced, TailEvent, TailItem } from '../../core/log/tail.ts';
import { formatTailCursor, parseTailCursor, type TailCursor } from '../../core/log/tail-cursor.ts';
import type { Store } from '../../ports/store.ts';
import type { TailOptions } from '../session.ts';
import { inOrder, type Piece, piecesOf, replacedDrafts, resetBefore } from './tail-pieces.ts';
import { type TailBatch, TailSource } from './tail-source.ts';

/** What a tail needs of its session. */
export interface TailedSession {
  readonly store: Store;
  readonly id: string;
  readonly incarnation: number;
  assertOpen(): void;
  /** A stored event as it is called today. */
  translate(event: SessionEvent): SessionEvent;
  /** Aborts when the session is closed: the tail yields what there is, and ends. */
  readonly closed: AbortSignal;
}

/** Yields events and pieces. Ending the iterator also ends a `next` that waits. */
export function tail(session: TailedSession, options: TailOptions): AsyncIterable<TailItem> {
  return {
    [Symbol.asyncIterator]() {
      const stopped = new AbortController();
      const items = new Tail(session, options, stopped.signal).items();
      return {
        next: () => items.next(),
        return: () => {
          stopped.abort();
          return items.return(undefined);
        },
      };
    },
  };
}

/** Items after which a tail had yielded everything that was stored when it last looked. */
const NEWEST = new WeakSet<TailItem>();

/**
 * Whether a tail had nothing more to yield after this item. Only then do all tails with the same cursor continue alike: within a batch, a
 * reader may lack chunks of a draft that has ended, and the event that ended it is still to come.
 */
export function isNewest(item: TailItem): boolean {
  return NEWEST.has(item);
}

const PIECES: readonly string[] = ['message/delta', 'tool/progress'];

class Tail {
  readonly #session: TailedSession;
  readonly #options: TailOptions;
  readonly #stopped: AbortSignal;
  readonly #types: ReadonlySet<string> | undefined;
  #seq = 0;
  #position: DraftPosition | undefined;
  /** Where the pieces of each call's progress ended. */
  readonly #ends = new Map<string, Pick<ToolProgress, 'run'> & { readonly end: number }>();
  /** Evaluations whose drafts the reader has as this tail yielded them, while it catches up after a cut. */
  #known: Set<string> | undefined;

  constructor(session: TailedSession, options: TailOptions, stopped: AbortSignal) {
    this.#session = session;
    this.#options = options;
    this.#stopped = stopped;
    this.#types = options.types && new Set(options.types);
  }

  async *items(): AsyncGenerator<TailItem, undefined> {
    const { live = false, signal } = this.#options;
    const { store, id, incarnation, closed } = this.#session;
    this.#session.assertOpen();
    const start = startOf(this.#options);
    if (this.#isOver) return;
    const source = live ? TailSource.follow(store, id, incarnation) : new TailSource(store, id, incarnation);
    try {
      if (await this.#begin(start)) yield this.#item({ type: 'session/reset' });
      // A reader that was cut off may know of an event that a read under way began before.
      let isShared = this.#position === undefined;
      for (let isBehind = false; !this.#isOver; ) {
        const { version } = source;
        const isLast = !live || closed.aborted;
        // While whole pages of events are missing, the drafts can wait.
        const withDrafts = !isBehind;
        const batch = await source.read({ seq: this.#seq, position: this.#position }, { drafts: withDrafts, isShared });
        isShared = true;
        isBehind = batch.isPartial;
        const hasMore = isBehind || !withDrafts || (batch.isFresh && batch.events.length > 0);
        let last: TailItem | undefined;
        for await (const item of this.#itemsOf(batch, source)) {
          if (this.#isOver) return;
          if (!this.#isWanted(item.event)) continue;
          if (last) yield last;
          last = item;
        }
        if (last && !hasMore) NEWEST.add(last);
        if (last) yield last;
        if (hasMore) continue;
        this.#known = undefined;
        if (isLast) return;
        await source.changed(version, [signal, closed, this.#stopped]);
      }
    } finally {
      if (live) source.release();
    }
  }

  /** Resets belong to the pieces that they are about. */
  #isWanted({ type }: TailEvent): boolean {
    if (!this.#types) return true;
    const isReset = type === 'draft/reset' || type === 'drafts/replaced';
    return (isReset ? PIECES : [type]).some((each) => this.#types?.has(each));
  }

  get #isOver(): boolean {
    return this.#stopped.aborted || this.#options.signal?.aborted === true;
  }

  /** Takes its place; true when the cursor is not of this log, and the tail begins with the first event instead. */
  async #begin(start: TailCursor | number): Promise<boolean> {
    const { store, id, incarnation } = this.#session;
    if (typeof start === 'number') {
      this.#seq = start;
      return false;
    }
    const isOther = start.incarnation !== incarnation || start.seq > (await store.head(id)).seq;
    if (isOther) return true;
    this.#seq = start.seq;
    this.#position = start.position;
    this.#known = start.position && new Set();
    return false;
  }

  async *#itemsOf(batch: TailBatch, source: TailSource): AsyncIterable<TailItem> {
    const { events, chunks, isFresh } = batch;
    const isSettled = batch.isSettled && !batch.isPartial;
    // Not before its last event: a reader that is cut off within this batch still has the drafts that it ends.
    const settling = isSettled ? events.at(-1) : undefined;
    for (const next of inOrder(events, isFresh ? [] : piecesOf(chunks), batch)) {
      if ('seq' in next) yield* this.#eventItems(next, next === settling);
      else yield* this.#pieceItems(next, source);
    }
    // Drafts that are replaced as a whole must be those of this moment: an event may have ended one of them.
    const replaced = isFresh && events.length === 0 && replacedDrafts(chunks);
    if (replaced) yield this.#replace(replaced);
    if (isSettled) this.#settle();
  }

  #settle(): void {
    this.#position = undefined;
    this.#ends.clear();
  }

  #replace(replaced: DraftsReplaced): TailItem {
    this.#position = replaced.position;
    this.#ends.clear();
    return this.#item(replaced);
  }

  *#eventItems(stored: SessionEvent, isSettling: boolean): Iterable<TailItem> {
    const event = frozen(this.#session.translate(stored));
    const reset = this.#resetOf(event);
    if (reset) yield this.#item(reset);
    if (isSettling) this.#settle();
    this.#seq = event.seq;
    yield this.#item(event);
  }

  async *#pieceItems(piece: Piece, source: TailSource): AsyncIterable<TailItem> {
    const { event, position, draftId } = piece;
    this.#known?.add(event.evaluationId);
    const isCut = event.type === 'tool/progress' && (await this.#isCut(event, draftId, source));
    if (isCut) yield this.#item(resetBefore(piece));
    if (event.type === 'tool/progress') {
      this.#ends.set(draftId, { run: event.run, end: event.offset + event.text.length });
    }
    this.#position = position;
    yield this.#item(event);
  }

  /** Whether the reader has progress that the store has dropped: what is stored now is all that is left of it (D62). */
  async #isCut({ run, offset, continues }: ToolProgress, draftId: string, source: TailSource): Promise<boolean> {
    const known = this.#ends.get(draftId);
    if (known?.run === run && known.end === offset) return false;
    if (offset === 0 && !continues) return false; // a run's first piece replaces what was reported before
    const oldest = await source.oldest(draftId);
    return !oldest || !this.#position || compareDraftPositions(oldest, this.#position) > 0;
  }

  /** After a cut: the reset of a response that the reader may have read in part, and that was recorded meanwhile. */
  #resetOf(event: SessionEvent): DraftReset | undefined {
    if (!this.#known || !isBuiltInEvent(event)) return undefined;
    if (event.type === 'evaluation/started') this.#known.add(event.evaluationId);
    const ended =
      event.type === 'message/interrupted'
        ? event
        : event.type === 'message/recorded' && event.message.role === 'assistant' && event.message;
    if (!ended || this.#known.has(ended.evaluationId)) return undefined;
    const { evaluationId, conversationId, turn } = ended;
    this.#known.add(evaluationId);
    return { type: 'draft/reset', evaluationId, conversationId, turn, before: event.seq };
  }

  #item(event: TailEvent): TailItem {
    const { incarnation } = this.#session;
    const position = this.#position && { position: this.#position };
    return { cursor: formatTailCursor({ incarnation, seq: this.#seq, ...position }), event };
  }
}

/** A cursor, or the seq after which to begin. */
function startOf({ after, from }: TailOptions): TailCursor | number {
  if (after !== undefined && from !== undefined) {
    throw new HoldfastError('INVALID_ARGUMENT', 'after and from both set the start; give one of them');
  }
  if (after !== undefined) return parseTailCursor(after);
  if (from !== undefined) checkFrom(from);
  return (from ?? 1) - 1;
}

export function checkFrom(from: number): void {
  if (Number.isSafeInteger(from) && from >= 1) return;
  throw new HoldfastError('INVALID_ARGUMENT', `from is the seq of an event, 1 being the first, not ${from}`);
}

/** The error of a cursor that was given without `drafts`. */
export function cursorWithoutDrafts(): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', 'after is the cursor of a tail: add drafts: true, or give from, a seq');
}
