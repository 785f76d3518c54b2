/** Why an evaluation waits, read from the conversation: its suspension is a notice that is pending until it is resumed. */
import { pendingBlocks, type SessionConversationState } from 'holdfast/conversation';

/** Why it waits, as the runner said it. */
export interface WaitReason {
  /** A code such as `BUDGET_EXCEEDED`. */
  readonly reason: string;
  readonly since: string;
}

/** The newest suspension that was not resumed; undefined when nothing waits. */
export function waitReason(state: SessionConversationState): WaitReason | undefined {
  const notice = pendingBlocks(state, 'main').findLast(
    (block) => block.type === 'system' && block.subtype === 'suspended',
  );
  if (notice?.type !== 'system') return undefined;
  const { reason } = (notice.data ?? {}) as { readonly reason?: unknown };
  return { reason: typeof reason === 'string' ? reason : '', since: notice.timestamp };
}

/** The arguments of a call as a value; the text itself if it is not JSON. */
export function argumentsOf(item: { readonly arguments: string }): unknown {
  try {
    return JSON.parse(item.arguments);
  } catch {
    return item.arguments;
  }
}
