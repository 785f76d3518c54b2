import { asName } from '../json-access.ts';
import type { RawTranscript } from '../raw-transcript.ts';
import type { TranscriptFacts } from '../transcript-format.ts';
import { parseExports } from './export.ts';

/** The facts of an exported session, from its `info`. */
export function openCodeFacts(raw: RawTranscript): TranscriptFacts {
  const info = parseExports(raw)[0]?.info ?? {};
  return {
    project: asName(info.directory),
    version: asName(info.version),
    session: asName(info.id),
    title: asName(info.title),
  };
}
