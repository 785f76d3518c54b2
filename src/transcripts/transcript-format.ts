import type { ConversationEvent } from '../conversation/events.ts';
import type { ConversationMessage } from '../core/log/messages.ts';
import type { TranscriptDiagnostics } from './diagnostics.ts';
import type { ImportedMessagesOptions } from './message-builder.ts';
import type { RawTranscript } from './raw-transcript.ts';

/** The events of a transcript, in the order in which they happened, and a report on what was read. */
export interface TranscriptEvents {
  readonly events: ConversationEvent[];
  readonly diagnostics: TranscriptDiagnostics;
}

/** What a transcript says about its session. What it does not name is missing. */
export interface TranscriptFacts {
  /** The directory the agent worked in. */
  readonly project?: string | undefined;
  /** The agent's version. */
  readonly version?: string | undefined;
  /** The id of the session. */
  readonly session?: string | undefined;
  /** The branch of a repository. */
  readonly branch?: string | undefined;
  /** The title that the user or the agent gave the session. */
  readonly title?: string | undefined;
}

/**
 * One agent's transcript format: converts texts that are in memory. `transcript-formats.ts` lists the formats. The code that finds and reads
 * the agent's files implements `TranscriptSource` in `importers/`. ARCHITECTURE.md says how to add a format.
 *
 * Contract: pure; no method throws, whatever the transcript holds. What cannot be read is reported in the diagnostics (D49).
 */
export interface TranscriptFormat {
  /**
   * Whether the main transcript of a combined one is in this format. The formats are tried in the order of `TRANSCRIPT_SOURCES`
   * (`importers/transcript-sources.ts`); the first that returns true is used.
   */
  detect(main: string): boolean;
  toEvents(raw: RawTranscript): TranscriptEvents;
  /** The messages of the main conversation. Every call has its result, superseded messages are left out. */
  toMessages(raw: RawTranscript, options: ImportedMessagesOptions): readonly ConversationMessage[];
  /** For the head of an exported document. */
  readFacts(raw: RawTranscript): TranscriptFacts;
}
