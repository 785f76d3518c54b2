import type { BlockMessage, BlockStatus } from '../conversation/blocks.ts';

/** The fields of every block, in the order in which all converters write them: equal blocks are then equal as JSON text. */
export function blockBase(
  id: string,
  conversationId: string,
  timestamp: string,
  message?: BlockMessage,
  status: BlockStatus = 'complete',
): {
  readonly id: string;
  readonly conversationId: string;
  readonly timestamp: string;
  readonly status: BlockStatus;
  readonly message?: BlockMessage;
} {
  return { id, conversationId, timestamp, status, ...(message && { message }) };
}
