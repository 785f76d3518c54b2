import type { ConversationBlock } from '../../conversation/blocks.ts';
import type { ConversationEvent } from '../../conversation/events.ts';
import { compareDraftPositions, type DraftPosition } from '../../core/log/draft-position.ts';
import type { MessageInterrupted } from '../../core/log/events.ts';
import type { DraftReset } from '../../core/log/tail.ts';

/**
 * A piece of a streaming response: a live `message/delta`, or a chunk of a stored draft (D53).
 *
 * Contract: the pieces of one block arrive in order. A piece without an `offset` continues where the previous piece ended; a stored
 * chunk (`n`) where the previous chunk ended, whatever was received live.
 */
export interface DraftPiece {
  readonly evaluationId: string;
  readonly turn: number;
  /** A higher one starts the response again. */
  readonly attempt: number;
  readonly blockId: string;
  readonly delta: string;
  /** Absent: derived from the block's id, which differs for calls and texts. */
  readonly kind?: 'text' | 'reasoning' | 'tool-input' | 'progress';
  readonly offset?: number;
  /** The number of a stored chunk, counted from 1 across the blocks of its attempt; a known one is ignored. */
  readonly n?: number;
  readonly toolName?: string;
  readonly conversationId?: string;
  /** The position of a tail's piece; one at or before the newest known position of its evaluation is ignored. */
  readonly position?: DraftPosition;
}

interface Draft {
  readonly turn: number;
  readonly attempt: number;
  readonly conversationId: string;
  readonly blocks: Map<string, DraftBlock>;
  /** The newest chunk that was read. */
  newestChunk: number;
}

interface DraftBlock {
  /** The block without its text. */
  readonly shown: ConversationBlock;
  text: string;
  /** How much of its text stored chunks have delivered. */
  stored: number;
  /** Its start was not received, so the block cannot be shown again. */
  readonly isPart: boolean;
}

/** The drafts, one per evaluation, and the blocks that show them. */
export class DraftBlocks {
  readonly #drafts = new Map<string, Draft>();
  /** The newest recorded turn of each evaluation: pieces of it are too late. */
  readonly #recorded = new Map<string, number>();
  /** The newest position of a tail that was read, by evaluation. */
  readonly #newest = new Map<string, DraftPosition>();

  /** Shows a piece: its block when it is the first one, then the text. */
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
      // A listener that starts in the middle may show the start already: an empty block would remove it.
      if (!piece.offset) yield { type: 'block:upsert', conversationId: draft.conversationId, timestamp, block: shown };
    }
    const length = block.isPart ? block.stored : block.text.length;
    const offset = piece.offset ?? (piece.n === undefined ? length : block.stored);
    if (piece.n !== undefined || block.isPart) block.stored = Math.max(block.stored, offset + piece.delta.length);
    if (!block.isPart && offset <= block.text.length) block.text += piece.delta.slice(block.text.length - offset);
    const { conversationId: shownIn } = draft;
    yield { type: 'block:delta', conversationId: shownIn, timestamp, blockId, delta: piece.delta, offset };
  }

  /**
   * Ends the draft of a recorded response. The message's blocks complete the shown ones as far as the order is the same; the others
   * are removed, and the message shows them again in its own order.
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

  /** Removes the blocks of a response that will not be recorded. */
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

  /** Removes the draft of a turn; a newer one stays. */
  *reset(reset: DraftReset, timestamp: string): Iterable<ConversationEvent> {
    const { evaluationId, turn, position } = reset;
    if (position && !this.#isAfter(evaluationId, position)) return;
    if ((this.#drafts.get(evaluationId)?.turn ?? 0) <= turn) yield* this.drop(evaluationId, timestamp);
  }

  /** Removes all drafts. */
  *clear(timestamp: string): Iterable<ConversationEvent> {
    for (const evaluationId of [...this.#drafts.keys()]) yield* this.drop(evaluationId, timestamp);
  }

  /** Moves the drafts of a conversation behind a block that was added while they streamed: a reload shows the log first. */
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

  /** Marks everything of the evaluation up to a position as read. */
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
    return isAfter(position, this.#newest.get(evaluationId));
  }
}

/** An empty block for the text. Its time is that of the recorded message, which is not known yet. */
function draftBlock(piece: DraftPiece, conversationId: string): ConversationBlock {
  const base = { id: piece.blockId, conversationId, timestamp: '', status: 'pending' } as const;
  switch (piece.kind ?? kindOf(piece)) {
    case 'text':
    case 'progress': // is shown on the call's block and never passed here
      return { ...base, type: 'assistant_text', content: '' };
    case 'reasoning':
      return { ...base, type: 'thinking', content: '' };
    case 'tool-input':
      return { ...base, type: 'tool_use', toolUseId: piece.blockId, toolName: piece.toolName ?? UNNAMED_TOOL };
  }
}

/** The tool name of a call while only its input is known. */
const UNNAMED_TOOL = 'tool';

/** Calls are named by their turn, texts by their message (D46). */
export function kindOf(piece: {
  readonly evaluationId: string;
  readonly turn: number;
  readonly blockId: string;
}): 'text' | 'tool-input' {
  return piece.blockId.startsWith(`${piece.evaluationId}/${piece.turn}/`) ? 'tool-input' : 'text';
}

/** The ids of blocks that were cut off begin with this. */
export const INTERRUPTED = 'interrupted:';

/** The blocks of a draft that a crash interrupted (D53). Their ids differ from those of the next attempt, which is shown beside them. */
export function interruptedBlocks(event: MessageInterrupted): readonly ConversationBlock[] {
  const { evaluationId, conversationId, turn, seq, at: timestamp } = event;
  return event.blocks.map(({ blockId, text, ...draft }): ConversationBlock => {
    const id = `${INTERRUPTED}${seq}:${blockId}`;
    const base = { id, conversationId, timestamp, status: 'error' } as const;
    const { kind = kindOf({ evaluationId, turn, blockId }), toolName = UNNAMED_TOOL } = draft;
    if (kind === 'tool-input') return { ...base, type: 'tool_use', toolUseId: id, toolName, inputText: text };
    return { ...base, type: kind === 'reasoning' ? 'thinking' : 'assistant_text', content: text };
  });
}

/** Whether a position of a tail is behind the newest that was read. */
export function isAfter(position: DraftPosition, newest: DraftPosition | undefined): boolean {
  return !newest || compareDraftPositions(position, newest) > 0;
}
