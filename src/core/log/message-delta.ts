import type { DraftPosition } from './draft-position.ts';

/** A piece of a response that is still streaming. Not in the log, which has the recorded message. */
export interface MessageDelta {
  readonly type: 'message/delta';
  readonly evaluationId: string;
  readonly conversationId: string;
  readonly turn: number;
  readonly attempt: number;
  readonly blockId: string;
  readonly kind: 'text' | 'reasoning' | 'tool-input';
  /** The tool whose input it is. */
  readonly toolName?: string;
  readonly delta: string;
  /** Its position in the block, in UTF-16 units. */
  readonly offset: number;
  /** The position of the last stored chunk that it was read from; absent when it comes from the model's own stream. */
  readonly position?: DraftPosition;
}
