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
 * The reader drops what it has of one draft: of the call's progress when there is a `callId`, else of the response of this turn. The
 * pieces that follow begin the draft again, or the recorded message replaces it.
 */
export interface DraftReset {
  readonly type: 'draft/reset';
  readonly evaluationId: string;
  readonly conversationId: string;
  readonly turn: number;
  readonly callId?: string;
  /** Of the piece that follows, if one does. */
  readonly position?: DraftPosition;
  /** The seq of the committed event that follows, if one does: it ends the draft. */
  readonly before?: number;
}

/**
 * The reader was too slow for pieces: it drops what it has of all drafts, and takes them as they are now. Each block of a response is one
 * piece from offset 0.
 */
export interface DraftsReplaced {
  readonly type: 'drafts/replaced';
  readonly pieces: readonly (MessageDelta | ToolProgress)[];
  /** Of the newest chunk among them. */
  readonly position: DraftPosition;
}

/**
 * The cursor belonged to another log, such as an earlier incarnation of the session: the reader drops everything, and the log follows from
 * its first event.
 */
export interface SessionReset {
  readonly type: 'session/reset';
}

/** What a tail yields. Committed events have a `seq`; pieces and resets have none. */
export type TailEvent<Committed = SessionEvent> =
  | Committed
  | MessageDelta
  | ToolProgress
  | DraftReset
  | DraftsReplaced
  | SessionReset;

/** An event or a piece, and the cursor that continues after it. */
export interface TailItem<Committed = SessionEvent> {
  readonly cursor: string;
  readonly event: TailEvent<Committed>;
}

/** Whether a value is an item of a tail rather than an event itself, which has a type. */
export function isTailItem(value: object): value is TailItem {
  return 'cursor' in value && 'event' in value && !('type' in value) && !('role' in value);
}
