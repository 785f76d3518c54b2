/** Chunks of UI message streams, and how blocks become some. */
import type { Attachment, ConversationBlock, TextBlock } from '../conversation/blocks.ts';
import type { ConversationEvent } from '../conversation/events.ts';
import { mediaUrl } from '../formats/media.ts';
import { INTERRUPTED } from '../transcripts/own-log/draft-blocks.ts';

/** A chunk of a UI message stream. Its `type` says which fields it has. */
export interface UiChunk {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The block of the main conversation that an event changes. */
export function blockIdOf(event: ConversationEvent): string | undefined {
  switch (event.type) {
    case 'block:upsert':
      return event.block.id;
    case 'block:delta':
    case 'block:removed':
      return event.blockId;
    case 'subagent:spawned':
    case 'subagent:completed':
      return `subagent:${event.toolUseId}`;
    default:
      return undefined;
  }
}

/** Whether a crash or a stop cut a block off: text, or a call that was not recorded. A call that failed has its message. */
export function isCutOff({ id, status, type }: ConversationBlock): boolean {
  if (status !== 'error') return false;
  return type === 'assistant_text' || type === 'thinking' || (type === 'tool_use' && id.startsWith(INTERRUPTED));
}

/** What a text is called in chunks. */
export function kindOf({ type }: ConversationBlock): 'text' | 'reasoning' {
  return type === 'thinking' ? 'reasoning' : 'text';
}

/** Attachments as chunks of files, or parts of a message; those whose content is not at hand are left out. */
export function fileChunks(attachments: readonly Attachment[]): readonly UiChunk[] {
  return attachments.flatMap(({ mediaType, data }): UiChunk[] => {
    const url = data === undefined ? undefined : mediaUrl({ mediaType, data });
    return url === undefined ? [] : [{ type: 'file', mediaType, url }];
  });
}

/** The parts of a steer. */
export function steeringParts({ content, attachments = [] }: TextBlock): readonly UiChunk[] {
  return [...(content === '' ? [] : [{ type: 'text', text: content }]), ...fileChunks(attachments)];
}
