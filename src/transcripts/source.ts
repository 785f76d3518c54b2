/** What a transcript is given as. */

/** Whose transcript it is. */
export type Architecture = 'claude-sdk' | 'opencode';

/** One subagent's transcript: a JSONL file of Claude Code, a child session's export of OpenCode. */
export interface SubagentTranscript {
  /** The agent's id, with or without its file's `agent-` prefix; the child session's id. */
  readonly id: string;
  readonly transcript: unknown;
  /** The `.meta.json` beside the file: an object or its text. */
  readonly meta?: unknown;
}

/** A session with the transcripts of its subagents, flat at any depth. */
export interface CombinedTranscript {
  readonly main: unknown;
  readonly subagents: readonly SubagentTranscript[];
}

/** The text of a transcript, or its texts together. An OpenCode export may also come parsed. */
export type RawTranscript = string | CombinedTranscript | Readonly<Record<string, unknown>>;
