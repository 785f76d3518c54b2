import type { ConversationBlock } from '../../conversation/blocks.ts';
import type { ConversationEvent } from '../../conversation/events.ts';
import { compareDraftPositions, type DraftPosition } from '../../core/draft-position.ts';
import type { DraftReset } from '../../core/tail.ts';

/**
 * A piece of an answer that is being given: a `message/delta` as it happens, or a chunk of a draft that a store kept (D53).
 *
 * Contract: the pieces of one block come in order. A piece without an `offset` continues where the one before it ended; a stored
 * chunk (`n`) where the chunk before it ended, whatever was heard live.
 */
export interface DraftPiece {
  readonly evaluationId: string;
  readonly turn: number;
  /** A higher one begins the answer anew. */
  readonly attempt: number;
  readonly blockId: string;
  readonly delta: string;
  /** A piece that does not say so leaves it to its id, which tells calls from texts. */
  readonly kind?: 'text' | 'reasoning' | 'tool-input' | 'progress';
  readonly offset?: number;
  /** The number of a stored chunk, counted from 1 across the blocks of its attempt: one that was seen before says nothing. */
  readonly n?: number;
  readonly toolName?: string;
  readonly conversationId?: string;
  /** Of a piece of a tail: one at or before the newest that was seen of its evaluation says nothing. */
  readonly position?: DraftPosition;
}

interface Draft {
  readonly turn: number;
  readonly attempt: number;
  readonly conversationId: string;
  readonly blocks: Map<string, DraftBlock>;
  /** The newest chunk that was seen. */
  newestChunk: number;
}

interface DraftBlock {
  /** The block without its text. */
  readonly shown: ConversationBlock;
  text: string;
  /** How much of it stored chunks have brought. */
  stored: number;
  /** The beginning was not seen here: the block cannot be shown again. */
  readonly isPart: boolean;
}

/** The answers under way, one per evaluation, and what a screen shows of them. */
export class DraftBlocks {
  readonly #drafts = new Map<string, Draft>();
  /** The newest turn of each evaluation that is recorded: pieces of it come too late. */
  readonly #recorded = new Map<string, number>();
  /** The newest piece of a tail that was seen of each evaluation. */
  readonly #newest = new Map<string, DraftPosition>();

  /** Shows a piece: its block when it is the first, then the text. */
  *add(piece: DraftPiece, conversationId: string, timestamp: string): Iterable<ConversationEvent> {
    const { evaluationId, turn, attempt, blockId } = piece;
    if (turn <= (this.#recorded.get(evaluationId) ?? 0) || !this.#isNew(evaluationId, piece.position)) return;
    let draft = this.#drafts.get(evaluationId);
    if (draft && (draft.turn > turn || (draft.turn === turn && draft.attempt > attempt))) return;
    if (!draft || draft.turn !== turn || draft.attempt !== attempt) {
      yield* this.drop(evaluationId, timestamp);
      draft = { turn, attempt, conversationId, blocks: new Map(), newestChunk: 0 };
      this.#drafts.set(evaluationId, draft);
    }
    if (piece.n !== undefined) {
      if (piece.n <= draft.newestChunk) return;
      draft.newestChunk = piece.n;
    }
    let block = draft.blocks.get(blockId);
    if (!block) {
      const shown = draftBlock(piece, draft.conversationId);
      block = { shown, text: '', stored: 0, isPart: Boolean(piece.offset) };
      draft.blocks.set(blockId, block);
      // A listener that begins in the middle may have the beginning on the screen: an empty block would take it away.
      if (!piece.offset) yield { type: 'block:upsert', conversationId: draft.conversationId, timestamp, block: shown };
    }
    const length = block.isPart ? block.stored : block.text.length;
    const offset = piece.offset ?? (piece.n === undefined ? length : block.stored);
    if (piece.n !== undefined || block.isPart) block.stored = Math.max(block.stored, offset + piece.delta.length);
    if (!block.isPart && offset <= block.text.length) block.text += piece.delta.slice(block.text.length - offset);
    yield {
      type: 'block:delta',
      conversationId: draft.conversationId,
      timestamp,
      blockId,
      delta: piece.delta,
      offset,
    };
  }

  /**
   * The response is recorded. Its blocks complete those that are shown as far as the order is the same; the others are removed, and the
   * message shows them again in its own order.
   */
  *record(
    evaluationId: string,
    turn: number,
    blocks: readonly ConversationBlock[],
    timestamp: string,
  ): Iterable<ConversationEvent> {
    this.#recorded.set(evaluationId, Math.max(turn, this.#recorded.get(evaluationId) ?? 0));
    const types = new Map(blocks.map((block) => [block.id, block.type]));
    const shown = [...(this.#drafts.get(evaluationId)?.blocks ?? [])];
    const known = shown.filter(([id, block]) => types.get(id) === block.shown.type).map(([id]) => id);
    const moved = known.findIndex((id, i) => blocks[i]?.id !== id);
    const kept = new Set(moved < 0 ? known : known.slice(0, moved));
    yield* this.drop(evaluationId, timestamp, (id) => kept.has(id));
  }

  /** Takes away what is shown of a response that will not be. */
  *drop(
    evaluationId: string,
    timestamp: string,
    stays: (id: string) => boolean = () => false,
  ): Iterable<ConversationEvent> {
    const draft = this.#drafts.get(evaluationId);
    this.#drafts.delete(evaluationId);
    for (const blockId of draft?.blocks.keys() ?? []) {
      if (!stays(blockId)) {
        yield { type: 'block:removed', conversationId: draft?.conversationId ?? 'main', timestamp, blockId };
      }
    }
  }

  /** Takes away the draft of a turn; a newer one stays. */
  *reset(reset: DraftReset, timestamp: string): Iterable<ConversationEvent> {
    const { evaluationId, turn, position } = reset;
    if (position && !this.#isAfter(evaluationId, position)) return;
    if ((this.#drafts.get(evaluationId)?.turn ?? 0) <= turn) yield* this.drop(evaluationId, timestamp);
  }

  /** Takes all drafts away. */
  *clear(timestamp: string): Iterable<ConversationEvent> {
    for (const evaluationId of [...this.#drafts.keys()]) yield* this.drop(evaluationId, timestamp);
  }

  /** Shows the drafts of a conversation after a block that was put in while they were streamed: a reload shows the log first. */
  *moveToEnd(conversationId: string, timestamp: string): Iterable<ConversationEvent> {
    for (const draft of this.#drafts.values()) {
      if (draft.conversationId !== conversationId) continue;
      for (const [blockId, { shown, text, isPart }] of draft.blocks) {
        if (isPart) continue;
        yield { type: 'block:removed', conversationId, timestamp, blockId };
        yield { type: 'block:upsert', conversationId, timestamp, block: shown };
        yield { type: 'block:delta', conversationId, timestamp, blockId, delta: text, offset: 0 };
      }
    }
  }

  get size(): number {
    return this.#drafts.size;
  }

  /** Everything of the evaluation up to a position was seen. */
  saw(evaluationId: string, position: DraftPosition): void {
    if (this.#isAfter(evaluationId, position)) this.#newest.set(evaluationId, position);
  }

  #isNew(evaluationId: string, position: DraftPosition | undefined): boolean {
    if (!position) return true;
    if (!this.#isAfter(evaluationId, position)) return false;
    this.#newest.set(evaluationId, position);
    return true;
  }

  #isAfter(evaluationId: string, position: DraftPosition): boolean {
    const newest = this.#newest.get(evaluationId);
    return !newest || compareDraftPositions(position, newest) > 0;
  }
}

/** An empty block for the text to come. Its time is the recorded message's, which nobody knows yet. */
function draftBlock(piece: DraftPiece, conversationId: string): ConversationBlock {
  const base = { id: piece.blockId, conversationId, timestamp: '', status: 'pending' } as const;
  switch (piece.kind ?? kindOf(piece)) {
    case 'text':
    case 'progress': // is shown on the call's block instead, and never gets here
      return { ...base, type: 'assistant_text', content: '' };
    case 'reasoning':
      return { ...base, type: 'thinking', content: '' };
    case 'tool-input':
      return { ...base, type: 'tool_use', toolUseId: piece.blockId, toolName: piece.toolName ?? UNNAMED_TOOL };
  }
}

/** What a call is called while only its input is known. */
export const UNNAMED_TOOL = 'tool';

/** Calls are named by their turn, texts by their message (D46). */
export function kindOf(piece: {
  readonly evaluationId: string;
  readonly turn: number;
  readonly blockId: string;
}): 'text' | 'tool-input' {
  return piece.blockId.startsWith(`${piece.evaluationId}/${piece.turn}/`) ? 'tool-input' : 'text';
}
