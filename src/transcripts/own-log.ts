/**
 * Converts our own log to conversation events: messages, the events around them, and drafts.
 *
 *     SessionEvents, ConversationMessages, DraftPieces, TailItems ─▶ logConverter().push ─▶ ConversationEvents
 *
 * A draft's blocks have the same ids as those of the recorded message, so that recording completes them (D46, D53). A child
 * conversation is a subagent whose tool use id is the child's conversation id; the call that started it keeps its own block (D52).
 * The application's own events are not shown: they are state, not conversation. Blocks for operators (instructions, requests,
 * captured states) are marked as machinery and omitted by default.
 */
import type { ConversationEvent } from '../conversation/events.ts';
import type { SessionEvent } from '../core/log/events.ts';
import type { ConversationMessage } from '../core/log/messages.ts';
import { isTailItem } from '../core/log/tail.ts';
import type { DraftPiece } from './own-log/draft-blocks.ts';
import type { LogItem } from './own-log/log-item.ts';
import { LogReader, type LogReaderOptions } from './own-log/log-reader.ts';

export type { DraftPiece } from './own-log/draft-blocks.ts';
export type { LogItem } from './own-log/log-item.ts';
export type { LogReaderOptions } from './own-log/log-reader.ts';

/**
 * Converts a log to conversation events, one item at a time.
 *
 * Contract: items are pushed in log order, pieces of drafts after the events that they follow. An item that is pushed a second time
 * (recognised by `seq`, by message id, or by a tail's position) emits nothing. The items of a tail (`session.events({ drafts: true })`)
 * may be pushed whole or as their events alone.
 */
export interface LogConverter {
  push(item: LogItem): ConversationEvent[];
}

/** Creates a converter for a live log, or for one that is read from its start. */
export function logConverter(options: LogReaderOptions = {}): LogConverter {
  let reader = new LogReader(options);
  return {
    push(item) {
      if (!isSessionReset(item)) return [...reader.read(item)];
      reader = new LogReader(options);
      return [{ type: 'session:reset', timestamp: '' }];
    },
  };
}

/** Converts a whole log, or its messages alone, to conversation events. `drafts` adds the responses that are still streaming. */
export function messagesToEvents(
  items: Iterable<ConversationMessage> | Iterable<SessionEvent>,
  options: LogReaderOptions & { readonly drafts?: Iterable<DraftPiece> } = {},
): ConversationEvent[] {
  const reader = new LogReader(options);
  const events: ConversationEvent[] = [];
  for (const item of items) for (const event of reader.read(item)) events.push(event);
  for (const piece of options.drafts ?? []) for (const event of reader.read(piece)) events.push(event);
  for (const event of reader.endOfMessages()) events.push(event);
  return events;
}

function isSessionReset(item: LogItem): boolean {
  const event = isTailItem(item) ? item.event : item;
  return 'type' in event && event.type === 'session/reset' && !('seq' in event);
}
