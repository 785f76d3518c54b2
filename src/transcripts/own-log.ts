/**
 * Our own log on a screen: messages, the events around them, and the drafts of answers under way, as conversation events.
 *
 *     SessionEvents, ConversationMessages, DraftPieces ─▶ logConverter().push ─▶ ConversationEvents
 *
 * A draft's blocks have the ids that the recorded message gives them, so recording completes what streaming began (D46, D53).
 * A child conversation is a subagent whose tool use id is the child's conversation id; the call that asked for it keeps its
 * own block (D52).
 */
import type { ConversationBlock, NoticeBlock, ToolUseBlock } from '../conversation/blocks.ts';
import { type ConversationEvent, MAIN_CONVERSATION } from '../conversation/events.ts';
import {
  type BuiltInEvent,
  type EvaluationStarted,
  isBuiltInEvent,
  type MessageInterrupted,
  type SessionEvent,
  type SessionRestored,
} from '../core/events.ts';
import { type CallRef, type ConversationMessage, textOf } from '../core/messages.ts';
import { erased } from '../core/record.ts';
import type { Usage } from '../core/usage.ts';
import { CallNames } from './own-log/call-names.ts';
import { DraftBlocks, type DraftPiece, kindOf, UNNAMED_TOOL } from './own-log/draft-blocks.ts';
import { blocksOfMessage } from './own-log/message-blocks.ts';
import { noticeOf } from './own-log/notices.ts';

export type { DraftPiece } from './own-log/draft-blocks.ts';

/** Anything of our own that a conversation can be shown from. */
export type LogItem = ConversationMessage | SessionEvent | DraftPiece;

/**
 * Turns a log into conversation events, one item at a time.
 *
 * Contract: items come in log order, pieces of drafts after the events they follow. An item that came before (by `seq`, by
 * message id) says nothing the second time.
 */
export interface LogConverter {
  push(item: LogItem): ConversationEvent[];
}

/** A converter for a log that is being written, or read from its beginning. */
export function logConverter(): LogConverter {
  const reader = new LogReader();
  return { push: (item) => [...reader.read(item)] };
}

/** A whole log, or just its messages, as conversation events; drafts show what was being said when it was read. */
export function messagesToEvents(
  items: Iterable<ConversationMessage> | Iterable<SessionEvent>,
  options: { readonly drafts?: Iterable<DraftPiece> } = {},
): ConversationEvent[] {
  const reader = new LogReader();
  const events: ConversationEvent[] = [];
  for (const item of items) events.push(...reader.read(item));
  for (const piece of options.drafts ?? []) events.push(...reader.read(piece));
  events.push(...reader.endOfMessages());
  return events;
}
