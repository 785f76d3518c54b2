/**
 * The one reducer: live streams, reconnects and transcripts all go through it, on the server and in the browser.
 *
 *     ConversationEvents ─▶ reduceConversation ─▶ { blocks, subagents }
 *
 * Pure and total: it never changes its input, reads no clock and throws on no data. For an event that changes nothing or is not
 * valid it returns the same state object (D48).
 */

import type { SessionConversationState } from './blocks.ts';
import type { ConversationEvent } from './events.ts';
import { isConversationEvent } from './is-conversation-event.ts';
import { appendDelta, removeBlock, settlePending, upsertBlock } from './reduce-block.ts';
import { completeSubagent, spawnSubagent } from './reduce-subagent.ts';
import { WorkingCopy } from './working-copy.ts';

/** Reduces one event. */
export function reduceConversation(
  state: SessionConversationState,
  event: ConversationEvent,
): SessionConversationState {
  const copy = new WorkingCopy(state);
  apply(copy, event);
  return copy.close();
}

/** Reduces a batch of events, with one copy instead of one per event. */
export function reduceConversationEvents(
  state: SessionConversationState,
  events: Iterable<ConversationEvent>,
): SessionConversationState {
  const copy = new WorkingCopy(state);
  for (const event of events) apply(copy, event);
  return copy.close();
}

function apply(copy: WorkingCopy, event: ConversationEvent): void {
  if (!isConversationEvent(event)) return;
  switch (event.type) {
    case 'block:upsert':
      upsertBlock(copy, event);
      break;
    case 'block:delta':
      appendDelta(copy, event);
      break;
    case 'block:removed':
      removeBlock(copy, event);
      break;
    case 'subagent:spawned':
      spawnSubagent(copy, event);
      break;
    case 'subagent:completed':
      completeSubagent(copy, event);
      break;
    case 'session:idle':
      settlePending(copy, event);
      break;
    case 'session:reset':
      copy.clear();
      break;
    default:
      event satisfies never;
  }
}
