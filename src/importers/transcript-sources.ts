/** The list of transcript sources: the agents whose files can be found and read. `transcripts/transcript-formats.ts` lists their formats. */
import { homedir } from 'node:os';
import type { Architecture } from '../transcripts/agent-names.ts';
import { claudeSource } from './claude/claude-source.ts';
import { codexSource } from './codex/codex-source.ts';
import { openCodeSource } from './opencode/opencode-source.ts';
import type { TranscriptSource } from './transcript-source.ts';

/** Sources by the name of their agent. */
export type TranscriptSources<A extends string = Architecture> = { readonly [N in A]: TranscriptSource };

/** Each agent's source, in the order in which they are tried. Claude Code is last: it accepts files that no other source detects. */
export const TRANSCRIPT_SOURCES: TranscriptSources = {
  opencode: openCodeSource,
  codex: codexSource,
  'claude-sdk': claudeSource,
};

/** The sources with their names, in order. */
export function entriesOf<A extends string>(
  sources: TranscriptSources<A>,
): readonly (readonly [A, TranscriptSource])[] {
  return (Object.keys(sources) as A[]).map((name) => [name, sources[name]]);
}

/** Where the agents store their sessions unless they are configured otherwise, in the order of the sources; some folders may not exist. */
export function defaultRoots(
  sources: TranscriptSources<string>,
  env: Readonly<Record<string, string | undefined>> = process.env,
  home: string = homedir(),
): readonly string[] {
  return entriesOf(sources).flatMap(([, source]) => source.defaultRoots(env, home));
}
