/**
 * The one reducer: live streams, reconnects and transcripts all go through it, on the server and in the browser.
 *
 *     ConversationEvents ─▶ reduceConversation ─▶ { blocks, subagents }
 *
 * Pure and total: it never changes its input, reads no clock and throws on no data; an event that says nothing new, or nothing
 * that makes sense, returns the very state it was given (D48).
 */
import { Draft } from './draft.ts';
import type { ConversationEvent } from './events.ts';
import { isConversationEvent } from './is-conversation-event.ts';
import { appendDelta, removeBlock, settlePending, upsertBlock } from './reduce-block.ts';
import { completeSubagent, spawnSubagent } from './reduce-subagent.ts';
import type { SessionConversationState } from './state.ts';

/** The state after one event. */
export function reduceConversation(
  state: SessionConversationState,
  event: ConversationEvent,
): SessionConversationState {
  const draft = new Draft(state);
  apply(draft, event);
  return draft.close();
}

/** The state after a batch of events, with one copy instead of one per event. */
export function reduceConversationEvents(
  state: SessionConversationState,
  events: Iterable<ConversationEvent>,
): SessionConversationState {
  const draft = new Draft(state);
  for (const event of events) apply(draft, event);
  return draft.close();
}

function apply(draft: Draft, event: ConversationEvent): void {
  if (!isConversationEvent(event)) return;
  switch (event.type) {
    case 'block:upsert':
      upsertBlock(draft, event);
      break;
    case 'block:delta':
      appendDelta(draft, event);
      break;
    case 'block:removed':
      removeBlock(draft, event);
      break;
    case 'subagent:spawned':
      spawnSubagent(draft, event);
      break;
    case 'subagent:completed':
      completeSubagent(draft, event);
      break;
    case 'session:idle':
      settlePending(draft, event);
      break;
    case 'session:reset':
      draft.clear();
      break;
    default:
      event satisfies never;
  }
}
