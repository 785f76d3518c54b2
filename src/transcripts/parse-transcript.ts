/** Transcripts of other agents, as conversations. Live streams go through the same converters, so both look the same (D47). */

import type { SessionConversationState } from '../conversation/blocks.ts';
import type { ConversationEvent } from '../conversation/events.ts';
import { createConversationState } from '../conversation/indexed-state.ts';
import { reduceConversationEvents } from '../conversation/reduce-conversation.ts';
import type { ConversationMessage } from '../core/log/messages.ts';
import type { Architecture } from './agent-names.ts';
import type { TranscriptDiagnostics } from './diagnostics.ts';
import type { ImportedMessagesOptions } from './message-builder.ts';
import type { RawTranscript } from './raw-transcript.ts';
import { formatOf } from './transcript-formats.ts';

/** Converts a transcript to events, in the order in which they happened, with a report on what was read. */
export function transcriptToEvents(
  architecture: Architecture,
  raw: RawTranscript,
): { events: ConversationEvent[]; diagnostics: TranscriptDiagnostics } {
  return formatOf(architecture).toEvents(raw);
}

/** Converts a transcript to the conversation that it records, with a report on what was read. */
export function parseTranscript(
  architecture: Architecture,
  raw: RawTranscript,
): { state: SessionConversationState; diagnostics: TranscriptDiagnostics } {
  const { events, diagnostics } = transcriptToEvents(architecture, raw);
  return { state: reduceConversationEvents(createConversationState(), events), diagnostics };
}

/**
 * Converts the main conversation of a transcript to messages that our own loop can continue, with any model. Every call has its
 * result, superseded messages are left out, and a subagent is the call that started it with its result.
 */
export function transcriptToMessages(
  architecture: Architecture,
  raw: RawTranscript,
  options: ImportedMessagesOptions = {},
): readonly ConversationMessage[] {
  return formatOf(architecture).toMessages(raw, options);
}
