/** What the parsers take: the texts of one session, as they were read. */

/**
 * One subagent's transcript: a JSONL file of Claude Code, a rollout of Codex, the export of a child session of OpenCode. For a fork of
 * Codex also a rollout that holds a part of its past.
 */
export interface SubagentTranscript {
  /** The agent's id, with or without its file's `agent-` prefix; the child session's id; the id in a rollout's name. */
  readonly id: string;
  readonly transcript: unknown;
  /** The `.meta.json` beside the file: an object or its text. */
  readonly meta?: unknown;
  /** The run of the workflow that the agent belongs to: the folder of its file. */
  readonly runId?: string;
  /** The file could not be read: `transcript` is empty, and the parser reports it. */
  readonly unreadable?: boolean;
  /** The file was compressed and ended early: `transcript` is what could be unpacked, and the parser reports it. */
  readonly isTorn?: boolean;
}

/** A session with the transcripts of its subagents, flat at any depth. */
export interface CombinedTranscript {
  readonly main: unknown;
  readonly subagents: readonly SubagentTranscript[];
  /** The file of `main` was compressed and ended early: `main` is what could be unpacked, and the parser reports it. */
  readonly isTorn?: boolean;
}

/** The text of a transcript, or a combined transcript as a value or as JSON text. An OpenCode export may also be passed parsed. */
export type RawTranscript = string | CombinedTranscript | Readonly<Record<string, unknown>>;
