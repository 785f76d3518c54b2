/** What the parsers take: the texts of one session, as they were read. */

/** One subagent's transcript: a JSONL file of Claude Code, the export of a child session of OpenCode. */
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

/** The text of a transcript, or a combined transcript as a value or as JSON text. An OpenCode export may also be passed parsed. */
export type RawTranscript = string | CombinedTranscript | Readonly<Record<string, unknown>>;
