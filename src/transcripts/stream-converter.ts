import type { ConversationEvent } from '../conversation/events.ts';
import type { EndReason } from './block-writer.ts';
import type { TranscriptDiagnostics } from './diagnostics.ts';

/** Options of a stream converter. */
export interface StreamConverterOptions {
  /** Returns the ISO time of messages that carry none. Default: the newest time in the stream. */
  readonly now?: () => string;
}

/**
 * Converts an agent's live stream to events, one message at a time.
 *
 * Contract: never throws, whatever is pushed. `push` and `end` return the events that this call added. `push` may follow `end`, when a
 * run is resumed. The default reason of `end` is `completed` if the stream reported its end, else `interrupted`.
 */
export interface StreamConverter {
  push(message: unknown): ConversationEvent[];
  end(reason?: EndReason): ConversationEvent[];
  /** A report on what was read so far (D49). */
  readonly diagnostics: TranscriptDiagnostics;
}
