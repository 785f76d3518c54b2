/** The list of transcript formats. `importers/transcript-sources.ts` lists the code that finds and reads the files of each. */
import { HoldfastError } from '../core/errors.ts';
import { claudeFormat } from './claude/claude-format.ts';
import { codexFormat } from './codex/codex-format.ts';
import { openCodeFormat } from './opencode/opencode-format.ts';
import type { TranscriptFormat } from './transcript-format.ts';

/** The agents whose transcripts can be read. */
export type Architecture = 'claude-sdk' | 'codex' | 'opencode';

const FORMATS: { readonly [A in Architecture]: TranscriptFormat } = {
  'claude-sdk': claudeFormat,
  codex: codexFormat,
  opencode: openCodeFormat,
};

/** The format of an agent. Throws `INVALID_ARGUMENT` for an agent that is not in the list. */
export function formatOf(architecture: Architecture): TranscriptFormat {
  if (Object.hasOwn(FORMATS, architecture)) return FORMATS[architecture];
  const known = Object.keys(FORMATS).join("' or '");
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `there is no transcript architecture "${String(architecture)}"; use '${known}'`,
  );
}
