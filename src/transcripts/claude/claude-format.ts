import type { TranscriptFormat } from '../transcript-format.ts';
import { claudeFacts } from './facts.ts';
import { claudeMessages } from './messages.ts';
import { claudeTranscriptEvents } from './transcript-events.ts';

/** The JSONL files of Claude Code and the Claude Agent SDK. They have no header, so any text may be one. */
export const claudeFormat: TranscriptFormat = {
  detect: () => true,
  toEvents: claudeTranscriptEvents,
  toMessages: claudeMessages,
  readFacts: claudeFacts,
};
