/** Transcripts of other agents, as conversations: the same code as for their live streams, so both look the same (D47). */
import { createConversationState } from '../conversation/conversation-state.ts';
import type { ConversationEvent } from '../conversation/events.ts';
import { reduceConversationEvents } from '../conversation/reduce-conversation.ts';
import type { SessionConversationState } from '../conversation/state.ts';
import { HoldfastError } from '../core/errors.ts';
import { claudeTranscriptEvents } from './claude/transcript-events.ts';
import type { TranscriptDiagnostics } from './diagnostics.ts';
import { openCodeTranscriptEvents } from './opencode/transcript-events.ts';
import type { Architecture, RawTranscript } from './source.ts';

/** The events of a transcript, in the order in which they happened, and a report on the reading. */
export function transcriptToEvents(
  architecture: Architecture,
  raw: RawTranscript,
): { events: ConversationEvent[]; diagnostics: TranscriptDiagnostics } {
  switch (architecture) {
    case 'claude-sdk':
      return claudeTranscriptEvents(raw);
    case 'opencode':
      return openCodeTranscriptEvents(raw);
    default:
      throw unknownArchitecture(architecture satisfies never);
  }
}

/** The conversation that a transcript tells, and a report on the reading. */
export function parseTranscript(
  architecture: Architecture,
  raw: RawTranscript,
): { state: SessionConversationState; diagnostics: TranscriptDiagnostics } {
  const { events, diagnostics } = transcriptToEvents(architecture, raw);
  return { state: reduceConversationEvents(createConversationState(), events), diagnostics };
}

/** The answer to a caller who names no agent we know. */
export function unknownArchitecture(architecture: unknown): HoldfastError {
  return new HoldfastError(
    'INVALID_ARGUMENT',
    `there is no transcript architecture "${String(architecture)}"; use 'claude-sdk' or 'opencode'`,
  );
}
