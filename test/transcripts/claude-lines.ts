/** Claude Code's transcripts, parsed, as plain data. */
import type { TranscriptDiagnostics } from '../../src/transcripts/diagnostics.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import type { RawTranscript } from '../../src/transcripts/raw-transcript.ts';
import { type Line, type PlainState, plain, textOfLines } from './fixtures.ts';

export function parse(
  raw: RawTranscript | readonly Line[],
): PlainState & { readonly diagnostics: TranscriptDiagnostics } {
  const { state, diagnostics } = parseTranscript(
    'claude-sdk',
    Array.isArray(raw) ? textOfLines(raw) : (raw as RawTranscript),
  );
  return { ...plain(state), diagnostics };
}
