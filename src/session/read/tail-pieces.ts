import type { DraftPosition } from '../../core/log/draft-position.ts';
import type { SessionEvent } from '../../core/log/events.ts';
import type { MessageDelta } from '../../core/log/message-delta.ts';
import { decodeProgress, type ToolProgress } from '../../core/log/progress.ts';
import type { DraftReset, DraftsReplaced } from '../../core/log/tail.ts';
import type { DraftChunk } from '../../ports/store.ts';

/** What a reader is shown of one chunk, or of several that were merged. */
export interface Piece {
  readonly draftId: string;
  /** The piece follows this event and precedes the later ones. */
  readonly after: number;
  readonly position: DraftPosition;
  readonly event: MessageDelta | ToolProgress;
}

/** Chunks as pieces. */
export function piecesOf(chunks: readonly DraftChunk[]): readonly Piece[] {
  return chunks.flatMap((chunk) => pieceOf(chunk, chunk.offset ?? 0) ?? []);
}

/** All drafts as they are now, each block of a response as one piece, in the order in which they began. */
export function replacedDrafts(chunks: readonly DraftChunk[]): DraftsReplaced | undefined {
  const pieces = new Map<string, Piece>();
  for (const chunk of chunks) {
    const { draftId, turn, attempt, blockId, kind, fence, n } = chunk;
    const key = JSON.stringify(kind === 'progress' ? [fence, n] : [draftId, turn, attempt, blockId]);
    const known = pieces.get(key);
    // Chunks of earlier versions have no offset: they continue the ones before them.
    const end = known?.event.type === 'message/delta' ? known.event.delta.length : 0;
    const piece = pieceOf(chunk, end);
    if (piece) pieces.set(key, (known && mergedPiece(known, piece)) ?? piece);
  }
  const last = chunks.at(-1);
  const events = [...pieces.values()].map(({ event }) => event);
  return last && { type: 'drafts/replaced', pieces: events, position: { fence: last.fence, n: last.n } };
}

/**
 * Events and pieces in the order in which they were written; neighbours of the same block are one piece. Pieces that follow an event of a
 * later page are left out.
 */
export function* inOrder(
  events: readonly SessionEvent[],
  pieces: readonly Piece[],
  { isPartial }: { readonly isPartial: boolean },
): Iterable<SessionEvent | Piece> {
  let next = 0;
  const before = (seq: number): readonly Piece[] => {
    const from = next;
    while ((pieces[next]?.after ?? seq) < seq) next++;
    return merged(pieces.slice(from, next));
  };
  for (const event of events) {
    yield* before(event.seq);
    yield event;
  }
  if (isPartial) yield* before((events.at(-1)?.seq ?? 0) + 1);
  else yield* merged(pieces.slice(next));
}

/** Neighbours of the same block as one piece. */
function merged(pieces: readonly Piece[]): readonly Piece[] {
  const all: Piece[] = [];
  for (const piece of pieces) {
    const last = all.at(-1);
    const both = last && mergedPiece(last, piece);
    if (both) all[all.length - 1] = both;
    else all.push(piece);
  }
  return all;
}

/** The reset that precedes a piece. */
export function resetBefore({ event, position }: Piece): DraftReset {
  const { evaluationId, conversationId, turn } = event;
  const callId = event.type === 'tool/progress' && { callId: event.callId };
  return { type: 'draft/reset', evaluationId, conversationId, turn, ...callId, position };
}

function pieceOf(chunk: DraftChunk, offset: number): Piece | undefined {
  const { draftId, after = Number.POSITIVE_INFINITY, fence, n } = chunk;
  const position = { fence, n };
  const event = chunk.kind === 'progress' ? progressOf(chunk, position) : deltaOf(chunk, offset, position);
  return event && { draftId, after, position, event };
}

function deltaOf(chunk: DraftChunk, offset: number, position: DraftPosition): MessageDelta {
  const { evaluationId, conversationId = 'main', turn, attempt, blockId, kind, toolName, delta } = chunk;
  return {
    type: 'message/delta',
    ...{ evaluationId, conversationId, turn, attempt, blockId },
    kind: kind === undefined || kind === 'progress' ? 'text' : kind,
    ...(toolName !== undefined && { toolName }),
    ...{ delta, offset, position },
  };
}

/** Progress names its own call. Undefined for a chunk that this version does not understand. */
function progressOf(chunk: DraftChunk, position: DraftPosition): ToolProgress | undefined {
  const { evaluationId, conversationId = 'main', turn, attempt, blockId, toolName = '', delta } = chunk;
  const piece = decodeProgress(delta);
  if (!piece) return undefined;
  const callId = blockId.slice(`${evaluationId}/${turn}/`.length);
  return {
    type: 'tool/progress',
    ...{ evaluationId, conversationId, turn, callId, attempt, toolName },
    ...piece,
    position,
  };
}

/** Two pieces as one, when the second continues the block of the first. Stores drop progress by chunks, so its pieces are not joined. */
function mergedPiece(first: Piece, second: Piece): Piece | undefined {
  const { event: a } = first;
  const { event: b } = second;
  if (a.type !== 'message/delta' || b.type !== 'message/delta' || first.draftId !== second.draftId) return undefined;
  if (a.blockId !== b.blockId || a.turn !== b.turn || a.attempt !== b.attempt) return undefined;
  if (a.offset + a.delta.length !== b.offset) return undefined;
  return { ...second, event: { ...b, offset: a.offset, delta: a.delta + b.delta } };
}
