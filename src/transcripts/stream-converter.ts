import type { ConversationEvent } from '../conversation/events.ts';
import type { EndReason } from './block-writer.ts';
import type { TranscriptDiagnostics } from './diagnostics.ts';

/** Options of a stream converter. */
export interface StreamConverterOptions {
  /** ISO time for what the source gives none; absent: the newest time the source gave. */
  readonly now?: () => string;
}

/**
 * Turns an agent's live stream into events, one message at a time.
 *
 * Contract: never throws, whatever is pushed; `push` and `end` answer the events that this call added; `push` may follow `end`, as
 * when a run is resumed. Without a reason `end` means `completed` if the source said it was done, else `interrupted`.
 */
export interface StreamConverter {
  push(message: unknown): ConversationEvent[];
  end(reason?: EndReason): ConversationEvent[];
  /** What has been read so far (D49). */
  readonly diagnostics: TranscriptDiagnostics;
}
