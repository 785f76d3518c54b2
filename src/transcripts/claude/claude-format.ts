import { asName, asObject, type Json, parseJson } from '../json-access.ts';
import { type RawTranscript, transcriptTexts } from '../raw-transcript.ts';
import { firstLines } from '../text-lines.ts';
import type { TranscriptFacts, TranscriptFormat } from '../transcript-format.ts';
import { claudeMessages } from './messages.ts';
import { claudeTranscriptEvents } from './transcript-events.ts';

/** The JSONL files of Claude Code and the Claude Agent SDK. They have no header, so any text may be one. */
export const claudeFormat: TranscriptFormat = {
  detect: () => true,
  toEvents: claudeTranscriptEvents,
  toMessages: claudeMessages,
  readFacts: claudeFacts,
};

/** How far into a file its facts are looked for. */
const HEAD_LINES = 50;

/** The facts of a session of Claude Code: any of its lines may name them. A title is a line of its own, and the newest one counts. */
function claudeFacts(raw: RawTranscript): TranscriptFacts {
  const text = transcriptTexts(raw)?.main ?? '';
  const lines = [...firstLines(text, HEAD_LINES)].flatMap(
    (line): Json | readonly Json[] => asObject(parseJson(line)) ?? [],
  );
  const first = (field: string): string | undefined =>
    lines.map((line) => asName(line[field])).find((value) => value !== undefined);
  return {
    project: first('cwd'),
    version: first('version'),
    session: first('sessionId'),
    branch: first('gitBranch'),
    title: newest(text, 'custom-title', 'customTitle') ?? newest(text, 'ai-title', 'aiTitle'),
  };
}

/** The field of the newest line of a type. */
function newest(text: string, type: string, field: string): string | undefined {
  const at = text.lastIndexOf(`\n{"type":"${type}"`);
  const end = text.indexOf('\n', at + 1);
  return at < 0 ? undefined : asName(asObject(parseJson(text.slice(at + 1, end < 0 ? undefined : end)))?.[field]);
}
