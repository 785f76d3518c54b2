/** Why an evaluation waits, read from the conversation: its suspension is a notice that is pending until it is resumed. */
import { findBlock, pendingBlocks, type SessionConversationState, type ToolUseBlock } from 'holdfast/conversation';
import type { Conversation } from 'holdfast/react';

/** A call that waits for a person, with the arguments that it would run with if the server read them. */
export type WaitingCall = Conversation['pending'][number] & { readonly exactArguments?: string };

/** Why it waits, as the runner said it. */
export interface WaitReason {
  /** A code such as `BUDGET_EXCEEDED`. */
  readonly reason: string;
  readonly message: string;
  readonly since: string;
}

/** The newest suspension that was not resumed; undefined when nothing waits. */
export function waitReason(state: SessionConversationState): WaitReason | undefined {
  const notice = pendingBlocks(state, 'main').findLast(
    (block) => block.type === 'system' && block.subtype === 'suspended',
  );
  if (notice?.type !== 'system') return undefined;
  const { reason } = (notice.data ?? {}) as { readonly reason?: unknown };
  return { reason: typeof reason === 'string' ? reason : '', message: notice.content, since: notice.timestamp };
}

/** The block of a call: it has what the tool printed before it ended. */
export function blockOfCall(state: SessionConversationState, call: WaitingCall): ToolUseBlock | undefined {
  const id = `${call.evaluationId}/${call.turn}/${call.callId}`;
  const found = [state, ...state.subagents].flatMap(({ blocks }) => blocks.find((block) => block.id === id) ?? []);
  const block = findBlock(state, id) ?? found[0];
  return block?.type === 'tool_use' ? block : undefined;
}

/** The arguments of a call as a value; the text itself if it is not JSON. */
export function argumentsOf(call: WaitingCall): unknown {
  const text = call.editedArguments ?? call.exactArguments ?? call.arguments;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
