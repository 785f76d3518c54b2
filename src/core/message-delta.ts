import type { DraftPosition } from './draft-position.ts';

/** A piece of a response that is being streamed. Not in the log: the recorded message is. */
export interface MessageDelta {
  readonly type: 'message/delta';
  readonly evaluationId: string;
  readonly conversationId: string;
  readonly turn: number;
  readonly attempt: number;
  readonly blockId: string;
  readonly kind: 'text' | 'reasoning' | 'tool-input';
  /** Whose input it is. */
  readonly toolName?: string;
  readonly delta: string;
  /** Where in the block it goes, in UTF-16 units. */
  readonly offset: number;
  /** Of the last stored chunk that it was read from; absent when the model's own stream brings it. */
  readonly position?: DraftPosition;
}
