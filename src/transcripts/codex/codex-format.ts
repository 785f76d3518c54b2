import { asName, asObject } from '../json-access.ts';
import { type RawTranscript, transcriptTexts } from '../raw-transcript.ts';
import { firstLines } from '../text-lines.ts';
import type { TranscriptFacts, TranscriptFormat } from '../transcript-format.ts';
import { codexMessages } from './messages.ts';
import { looksLikeRollout, metaIn } from './rollouts/rollout-line.ts';
import { codexTranscriptEvents } from './transcript-events.ts';

/** The rollouts of Codex. A combined transcript holds those of its subagents and, for a fork, those that hold its past. */
export const codexFormat: TranscriptFormat = {
  detect: looksLikeRollout,
  toEvents: codexTranscriptEvents,
  toMessages: codexMessages,
  readFacts: codexFacts,
};

/** How far into a file its `session_meta` is looked for. */
const HEAD_LINES = 50;

/** The facts of a rollout, from its `session_meta` line. */
function codexFacts(raw: RawTranscript): TranscriptFacts {
  const meta = metaIn(firstLines(transcriptTexts(raw)?.main ?? '', HEAD_LINES)) ?? {};
  return {
    project: asName(meta.cwd),
    version: asName(meta.cli_version),
    session: asName(meta.id),
    branch: asName(asObject(meta.git)?.branch),
  };
}
