/** What a transcript says about itself: the agent, its version, the project, the session and a title. */
import type { SessionConversationState } from '../../conversation/state.ts';
import { asName, asObject, type Json, parseJson } from '../json-access.ts';
import { parseExports } from '../opencode/export.ts';
import type { RawTranscript } from '../raw-transcript.ts';
import type { Architecture } from '../transcript-formats.ts';
import type { AboutConversation } from './conversation-facts.ts';

/** What the head of a document can name. */
export interface TranscriptFacts {
  readonly about: AboutConversation;
  /** The title that the user or the agent gave the session. */
  readonly title?: string | undefined;
}

/** How far into a file its facts are looked for. */
const HEAD_LINES = 50;
const MAX_TITLE = 100;

/** Reads the facts of a loaded transcript; those that it does not name are missing. */
export function transcriptFacts(architecture: Architecture, raw: RawTranscript): TranscriptFacts {
  switch (architecture) {
    case 'claude-sdk':
      return claudeFacts(mainText(raw));
    case 'codex':
      return codexFacts(mainText(raw));
    case 'opencode': {
      const info = parseExports(raw)[0]?.info ?? {};
      const facts = { project: info.directory, version: info.version, session: info.id };
      return { about: named('OpenCode', facts), title: asName(info.title) };
    }
    default:
      return architecture satisfies never;
  }
}

/** The start of the first prompt, as a title. */
export function promptTitle({ blocks }: SessionConversationState): string | undefined {
  for (const block of blocks) {
    if (block.type !== 'user_message' || block.content.trim() === '') continue;
    const line = block.content.trim().split('\n', 1)[0] as string;
    const characters = [...line.slice(0, 2 * MAX_TITLE)];
    return characters.length <= MAX_TITLE ? line.trim() : `${characters.slice(0, MAX_TITLE).join('')}…`;
  }
  return undefined;
}

function claudeFacts(text: string): TranscriptFacts {
  const lines = headLines(text);
  const first = (field: string): string | undefined =>
    lines.map((line) => asName(line[field])).find((value) => value !== undefined);
  const facts = { project: first('cwd'), version: first('version'), session: first('sessionId') };
  return {
    about: named('Claude Code', { ...facts, branch: first('gitBranch') }),
    title: newest(text, 'custom-title', 'customTitle') ?? newest(text, 'ai-title', 'aiTitle'),
  };
}

function codexFacts(text: string): TranscriptFacts {
  const meta = asObject(headLines(text).find((line) => line.type === 'session_meta')?.payload) ?? {};
  const facts = { project: meta.cwd, version: meta.cli_version, session: meta.id };
  return { about: named('Codex', { ...facts, branch: asObject(meta.git)?.branch }) };
}

function named(agent: string, facts: { readonly [K in keyof AboutConversation]: unknown }): AboutConversation {
  const known = Object.entries(facts).filter(([, value]) => asName(value) !== undefined);
  return { agent, ...Object.fromEntries(known) };
}

function mainText(raw: RawTranscript): string {
  if (typeof raw !== 'string') return typeof raw?.main === 'string' ? raw.main : '';
  const main = /^\s*\{\s*"main"\s*:/.test(raw) ? asObject(parseJson(raw))?.main : undefined;
  return typeof main === 'string' ? main : raw;
}

function headLines(text: string): readonly Json[] {
  const lines: Json[] = [];
  for (let start = 0, n = 0; n < HEAD_LINES && start < text.length; n++) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    const line = asObject(parseJson(text.slice(start, end)));
    if (line) lines.push(line);
    start = end + 1;
  }
  return lines;
}

/** The field of the newest line of a type. */
function newest(text: string, type: string, field: string): string | undefined {
  const at = text.lastIndexOf(`\n{"type":"${type}"`);
  const end = text.indexOf('\n', at + 1);
  return at < 0 ? undefined : asName(asObject(parseJson(text.slice(at + 1, end < 0 ? undefined : end)))?.[field]);
}
