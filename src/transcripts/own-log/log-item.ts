import type { ConversationMessage } from '../../core/log/messages.ts';
import type { ToolProgress } from '../../core/log/progress.ts';
import type { DraftReset, DraftsReplaced, TailEvent, TailItem } from '../../core/log/tail.ts';
import type { DraftPiece } from './draft-blocks.ts';

/** Everything of our own log that can be shown. */
export type LogItem = ConversationMessage | DraftPiece | TailEvent | TailItem;

/** A log item; that of a tail without its cursor. */
export type UnwrappedItem = Exclude<LogItem, TailItem>;

/** Whether an item discards drafts. */
export function isReset(item: UnwrappedItem): item is DraftReset | DraftsReplaced {
  return 'type' in item && (item.type === 'draft/reset' || item.type === 'drafts/replaced') && !('seq' in item);
}

/** Whether an item is progress of a running call. */
export function isToolProgress(item: UnwrappedItem): item is ToolProgress {
  return 'type' in item && item.type === 'tool/progress' && !('seq' in item);
}

/** Whether an item is a piece of a draft. */
export function isPiece(item: UnwrappedItem): item is DraftPiece {
  return 'delta' in item && 'attempt' in item && !('seq' in item);
}

/** Whether an item is a message, and not the event that records one. */
export function isMessage(item: unknown): item is ConversationMessage {
  if (typeof item !== 'object' || item === null || !('role' in item) || !('content' in item)) return false;
  return 'evaluationId' in item && Array.isArray(item.content) && !('seq' in item);
}
