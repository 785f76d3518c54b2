import type { ConversationBlock } from '../../conversation/blocks.ts';
import type { ConversationEvent } from '../../conversation/events.ts';

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
  readonly type: ConversationBlock['type'];
  length: number;
  /** How much of it stored chunks have brought. */
  stored: number;
}

/** The answers under way, one per evaluation, and what a screen shows of them. */
export class DraftBlocks {
  readonly #drafts = new Map<string, Draft>();
  /** The newest turn of each evaluation that is recorded: pieces of it come too late. */
  readonly #recorded = new Map<string, number>();

  /** Shows a piece: its block when it is the first, then the text. */
  *add(piece: DraftPiece, conversationId: string, timestamp: string): Iterable<ConversationEvent> {
    const { evaluationId, turn, attempt, blockId } = piece;
    if (turn <= (this.#recorded.get(evaluationId) ?? 0)) return;
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
      block = { type: shown.type, length: 0, stored: 0 };
      draft.blocks.set(blockId, block);
      // Whoever listens from the middle may have the beginning on the screen: an empty block would take it away.
      if (!piece.offset) yield { type: 'block:upsert', conversationId: draft.conversationId, timestamp, block: shown };
    }
    const offset = piece.offset ?? (piece.n === undefined ? block.length : block.stored);
    if (piece.n !== undefined) block.stored = offset + piece.delta.length;
    block.length = Math.max(block.length, offset + piece.delta.length);
    yield {
      type: 'block:delta',
      conversationId: draft.conversationId,
      timestamp,
      blockId,
      delta: piece.delta,
      offset,
    };
  }

  /** The answer is recorded: what was shown and is not among its blocks goes; the others it completes. */
  *record(
    evaluationId: string,
    turn: number,
    blocks: readonly ConversationBlock[],
    timestamp: string,
  ): Iterable<ConversationEvent> {
    this.#recorded.set(evaluationId, Math.max(turn, this.#recorded.get(evaluationId) ?? 0));
    const types = new Map(blocks.map((block) => [block.id, block.type]));
    yield* this.drop(evaluationId, timestamp, (id, type) => types.get(id) === type);
  }

  /** Takes away what is shown of an answer that will not be. */
  *drop(
    evaluationId: string,
    timestamp: string,
    stays: (id: string, type: ConversationBlock['type']) => boolean = () => false,
  ): Iterable<ConversationEvent> {
    const draft = this.#drafts.get(evaluationId);
    this.#drafts.delete(evaluationId);
    for (const [blockId, { type }] of draft?.blocks ?? []) {
      if (!stays(blockId, type)) {
        yield { type: 'block:removed', conversationId: draft?.conversationId ?? 'main', timestamp, blockId };
      }
    }
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
