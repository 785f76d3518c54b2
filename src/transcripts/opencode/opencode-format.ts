import type { TranscriptFormat } from '../transcript-format.ts';
import { parseExport } from './export.ts';
import { openCodeFacts } from './facts.ts';
import { openCodeMessages } from './messages.ts';
import { openCodeTranscriptEvents } from './transcript-events.ts';

/** The JSON that `opencode export` prints. Sessions from OpenCode's database and files are converted to it first. */
export const openCodeFormat: TranscriptFormat = {
  detect: (main) => parseExport(main) !== undefined,
  toEvents: openCodeTranscriptEvents,
  toMessages: openCodeMessages,
  readFacts: openCodeFacts,
};
