import type { TranscriptFormat } from '../transcript-format.ts';
import { codexFacts } from './facts.ts';
import { codexMessages } from './messages.ts';
import { looksLikeRollout } from './rollout-line.ts';
import { codexTranscriptEvents } from './transcript-events.ts';

/** The rollouts of Codex. A combined transcript holds those of its subagents and, for a fork, those that hold its past. */
export const codexFormat: TranscriptFormat = {
  detect: looksLikeRollout,
  toEvents: codexTranscriptEvents,
  toMessages: codexMessages,
  readFacts: codexFacts,
};
