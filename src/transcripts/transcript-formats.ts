/** The list of transcript formats. `importers/transcript-sources.ts` lists the code that finds and reads the files of each. */
import { HoldfastError } from '../core/errors.ts';
import type { Architecture } from './agent-names.ts';
import { claudeFormat } from './claude/claude-format.ts';
import { codexFormat } from './codex/codex-format.ts';
import { openCodeFormat } from './opencode/opencode-format.ts';
import type { TranscriptFormat } from './transcript-format.ts';

/** Formats by the name of their agent. */
export type TranscriptFormats<A extends string = Architecture> = { readonly [N in A]: TranscriptFormat };

/** Each agent's format. */
export const TRANSCRIPT_FORMATS: TranscriptFormats = {
  'claude-sdk': claudeFormat,
  codex: codexFormat,
  opencode: openCodeFormat,
};

/** The format of an agent. Throws `INVALID_ARGUMENT` for an agent that is not in the list. */
export function formatOf(architecture: Architecture): TranscriptFormat {
  if (Object.hasOwn(TRANSCRIPT_FORMATS, architecture)) return TRANSCRIPT_FORMATS[architecture];
  const known = Object.keys(TRANSCRIPT_FORMATS).join("' or '");
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `there is no transcript architecture "${String(architecture)}"; use '${known}'`,
  );
}
