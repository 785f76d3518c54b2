/** What the parsers take: the texts of one session, as they were read. */
import { asList, asName, asObject, asText, parseJson } from './json-access.ts';

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

/** One subagent's text, and what was passed with it. */
interface SubagentText {
  readonly id: string;
  /** Absent when the transcript is no text. */
  readonly text: string | undefined;
  readonly meta: unknown;
  readonly runId: string | undefined;
  readonly isUnreadable: boolean;
  readonly isTorn: boolean;
}

/** The texts of a session, in whichever form they were passed. */
export interface TranscriptTexts {
  readonly main: string;
  readonly isTorn: boolean;
  readonly subagents: readonly SubagentText[];
}

/** Whether a text starts as the JSON of a combined transcript does. */
export function startsCombined(text: string): boolean {
  return /^\s*\{\s*"main"\s*:/.test(text);
}

/** Reads a text, or a combined transcript as a value or as JSON; `undefined` when it is neither. */
export function transcriptTexts(raw: unknown): TranscriptTexts | undefined {
  if (typeof raw === 'string') {
    const combined = startsCombined(raw) ? asObject(parseJson(raw)) : undefined;
    return typeof combined?.main === 'string' ? transcriptTexts(combined) : { main: raw, isTorn: false, subagents: [] };
  }
  const object = asObject(raw);
  const main = asText(object?.main);
  if (object === undefined || main === undefined) return undefined;
  const subagents = asList(object.subagents).flatMap((value): readonly SubagentText[] => {
    const { id, transcript, meta, runId, unreadable, isTorn } = asObject(value) ?? {};
    if (typeof id !== 'string' || id === '') return [];
    const texts = { id, text: asText(transcript), meta, runId: asName(runId) };
    return [{ ...texts, isUnreadable: unreadable === true, isTorn: isTorn === true }];
  });
  return { main, isTorn: object.isTorn === true, subagents };
}

/** The run of the workflow that a subagent's file belongs to, from its path: the folder of such a file is named after the run. */
export function workflowRun(path: string): string | undefined {
  return /[/\\]workflows[/\\](wf_[^/\\]+)[/\\]/.exec(path)?.[1];
}
