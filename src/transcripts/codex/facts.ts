import { asName, asObject } from '../json-access.ts';
import type { RawTranscript } from '../raw-transcript.ts';
import type { TranscriptFacts } from '../transcript-format.ts';
import { headLines, mainText } from '../transcript-head.ts';

/** The facts of a rollout, from its `session_meta` line. */
export function codexFacts(raw: RawTranscript): TranscriptFacts {
  const meta = asObject(headLines(mainText(raw)).find((line) => line.type === 'session_meta')?.payload) ?? {};
  return {
    project: asName(meta.cwd),
    version: asName(meta.cli_version),
    session: asName(meta.id),
    branch: asName(asObject(meta.git)?.branch),
  };
}
