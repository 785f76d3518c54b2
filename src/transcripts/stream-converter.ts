import type { ConversationEvent } from '../conversation/events.ts';
import type { BlockWriter, EndReason } from './block-writer.ts';
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

/** Makes a converter of what writes its events and its report, and what handles a message and the end. */
export function streamConverter(stream: {
  readonly writer: BlockWriter;
  readonly handle: (message: unknown) => void;
  readonly end: (reason: EndReason | undefined) => void;
}): StreamConverter {
  const { writer } = stream;
  return {
    push(message) {
      stream.handle(message);
      return writer.take();
    },
    end(reason) {
      stream.end(reason);
      return writer.take();
    },
    get diagnostics() {
      return writer.diagnostics.report();
    },
  };
}
