import { asName, asObject, parseJson } from '../json-access.ts';
import type { RawTranscript } from '../raw-transcript.ts';
import type { TranscriptFacts } from '../transcript-format.ts';
import { headLines, mainText } from '../transcript-head.ts';

/** The facts of a session of Claude Code: any of its lines may name them. A title is a line of its own, and the newest one counts. */
export function claudeFacts(raw: RawTranscript): TranscriptFacts {
  const text = mainText(raw);
  const lines = headLines(text);
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
