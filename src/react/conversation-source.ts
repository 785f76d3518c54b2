import type { InputContent } from '../core/log/events.ts';
import type { TailItem } from '../core/log/tail.ts';
import type { SessionDecisions } from '../core/views/session-decisions.ts';
import type { PendingCall, QueuedInput } from '../core/views/views.ts';
import type { SendOptions } from '../session/append/send-input.ts';

/** What people can do with a conversation. Each resolves when it is in the log; the process that runs the session obeys. */
export interface ConversationActions extends SessionDecisions {
  /** Sends a message, and sends it again with the same id when the server does not respond. */
  send(input: string | InputContent, options?: SendOptions): Promise<{ readonly id: string }>;
  /** Sends a message that joins the running evaluation before its next request. */
  steer(input: string | InputContent, options?: Omit<SendOptions, 'mode'>): Promise<{ readonly id: string }>;
  /** Takes a queued input back; false when it was placed already. */
  withdraw(inputId: string): Promise<boolean>;
}

/** Receives what a source yields. */
export interface SourceReader {
  item(item: TailItem): void;
  /** Everything that was committed when the source was opened has been read. */
  live(): void;
  /**
   * The connection is opened, or carries bytes: if it does not do so again in time, it is dead. `retryMs` is the server's wish for the time
   * between two connections. A source that cannot die silently does not call it.
   */
  alive(retryMs?: number): void;
}

/** Where a conversation comes from, and what acts on it. */
export interface ConversationSource {
  /** Reads items after a cursor until the source ends, fails or `signal` aborts. Reading then continues after the last cursor. */
  follow(after: string | undefined, reader: SourceReader, signal: AbortSignal): Promise<void>;
  /** Whether no later attempt can succeed after this error of `follow`. */
  isFinal(error: unknown): boolean;
  /** The queued inputs and, if they are wanted, the calls without a result. */
  readWaiting(withCalls: boolean): Promise<readonly [readonly QueuedInput[], readonly PendingCall[]]>;
  readonly actions: ConversationActions;
}
