/**
 * The live tail of a session: committed events and pieces of drafts in one ordered stream (D74).
 *
 *     log, drafts ─▶ session.events({ drafts: true }) ─▶ TailItems ─▶ logConverter, a server, a screen
 */
import type { DraftPosition } from './draft-position.ts';
import type { SessionEvent } from './events.ts';
import type { MessageDelta } from './message-delta.ts';
import type { ToolProgress } from './progress.ts';

/**
 * The reader drops its text of one draft: the call's progress if there is a `callId`, otherwise the response of this turn. The following
 * pieces start the draft again, or the recorded message replaces it.
 */
export interface DraftReset {
  readonly type: 'draft/reset';
  readonly evaluationId: string;
  readonly conversationId: string;
  readonly turn: number;
  readonly callId?: string;
  /** The position of the following piece, if there is one. */
  readonly position?: DraftPosition;
  /** The seq of the following committed event, if there is one: it ends the draft. */
  readonly before?: number;
}

/**
 * The reader was too slow for single pieces: it replaces all its drafts by these. Each block of a response is one piece from offset
 * 0.
 */
export interface DraftsReplaced {
  readonly type: 'drafts/replaced';
  readonly pieces: readonly (MessageDelta | ToolProgress)[];
  /** The position of the newest chunk among them. */
  readonly position: DraftPosition;
}

/**
 * The cursor belongs to another log, such as an earlier incarnation of the session: the reader drops everything, and the log follows
 * from its first event.
 */
export interface SessionReset {
  readonly type: 'session/reset';
}

/** An item of a tail. Committed events have a `seq`; pieces and resets have none. */
export type TailEvent<Committed = SessionEvent> =
  | Committed
  | MessageDelta
  | ToolProgress
  | DraftReset
  | DraftsReplaced
  | SessionReset;

/** An event or a piece, with the cursor that continues after it. */
export interface TailItem<Committed = SessionEvent> {
  readonly cursor: string;
  readonly event: TailEvent<Committed>;
}

/** Whether a value is an item of a tail rather than an event, which has a type. */
export function isTailItem(value: object): value is TailItem {
  return 'cursor' in value && 'event' in value && !('type' in value) && !('role' in value);
}
