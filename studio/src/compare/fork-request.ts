import type { ConversationBlock } from 'holdfast/conversation';
import type { ForkRequest } from '../../../src/server/fork-at-block.ts';

/** The request to the server: a message of the user is replaced, every other block is kept. */
export function forkRequest(
  block: Pick<ConversationBlock, 'id' | 'type'>,
  { text, model, title }: { readonly text: string; readonly model: string; readonly title: string },
): ForkRequest {
  return {
    block: block.id,
    ...(block.type === 'user_message' && { before: true }),
    ...(text.trim() !== '' && { input: text }),
    ...(title.trim() !== '' && { title: title.trim() }),
    ...(model.trim() !== '' && { metadata: { model: model.trim() } }),
  };
}
