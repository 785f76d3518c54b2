import { asName } from '../json-access.ts';
import type { RawTranscript } from '../raw-transcript.ts';
import type { TranscriptFacts, TranscriptFormat } from '../transcript-format.ts';
import { parseExport, parseExports } from './export.ts';
import { openCodeMessages } from './messages.ts';
import { openCodeTranscriptEvents } from './transcript-events.ts';

/** The JSON that `opencode export` prints. Sessions from OpenCode's database and files are converted to it first. */
export const openCodeFormat: TranscriptFormat = {
  detect: (main) => parseExport(main) !== undefined,
  toEvents: openCodeTranscriptEvents,
  toMessages: openCodeMessages,
  readFacts: openCodeFacts,
};

/** The facts of an exported session, from its `info`. */
function openCodeFacts(raw: RawTranscript): TranscriptFacts {
  const info = parseExports(raw)[0]?.info ?? {};
  return {
    project: asName(info.directory),
    version: asName(info.version),
    session: asName(info.id),
    title: asName(info.title),
  };
}
