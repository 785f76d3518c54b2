/**
 * Our own log on a screen: messages, the events around them, and the drafts of answers under way, as conversation events.
 *
 *     SessionEvents, ConversationMessages, DraftPieces, TailItems ─▶ logConverter().push ─▶ ConversationEvents
 *
 * A draft's blocks have the ids that the recorded message gives them, so recording completes what streaming began (D46, D53).
 * A child conversation is a subagent whose tool use id is the child's conversation id; the call that asked for it keeps its
 * own block (D52). Events of the user's own are not shown: they are state, not conversation.
 * How the conversation is run (instructions, what was sent, captured states) is marked as machinery and left out by default.
 */
import type { ConversationEvent } from '../conversation/events.ts';
import type { SessionEvent } from '../core/events.ts';
import type { ConversationMessage } from '../core/messages.ts';
import { isTailItem } from '../core/tail.ts';
import type { DraftPiece } from './own-log/draft-blocks.ts';
import type { LogItem } from './own-log/log-item.ts';
import { LogReader, type LogReaderOptions } from './own-log/log-reader.ts';

export type { DraftPiece } from './own-log/draft-blocks.ts';
export type { LogItem } from './own-log/log-item.ts';
export type { LogReaderOptions } from './own-log/log-reader.ts';

/**
 * Turns a log into conversation events, one item at a time.
 *
 * Contract: items come in log order, pieces of drafts after the events they follow. An item that came before (by `seq`, by
 * message id, by the position of a tail's piece) says nothing the second time. A tail's items (`session.events({ drafts: true })`) may be
 * pushed whole or as their events alone.
 */
export interface LogConverter {
  push(item: LogItem): ConversationEvent[];
}

/** A converter for a log that is being written, or read from its beginning. */
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

/** A whole log, or just its messages, as conversation events; drafts show what was being said when it was read. */
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
