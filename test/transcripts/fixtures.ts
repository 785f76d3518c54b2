/** The real transcripts of `test/fixtures`, in the form that converters and parsers take. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { SessionConversationState } from '../../src/conversation/blocks.ts';
import type { ConversationEvent } from '../../src/conversation/events.ts';
import { createConversationState } from '../../src/conversation/indexed-state.ts';
import { reduceConversationEvents } from '../../src/conversation/reduce-conversation.ts';
import type { CombinedTranscript } from '../../src/transcripts/raw-transcript.ts';

export type Line = Readonly<Record<string, unknown>>;

export const FIXTURES: string = join(import.meta.dirname, '../fixtures');

/** The one large real session. */
export const REAL_SESSION = '4d5611e5-241a-462a-8d15-5122611a9569';

/** The runs of Claude Code 2.1.325. */
export const CLAUDE_RUNS: readonly string[] = [
  'plain',
  'thinking',
  'tools',
  'parallel',
  'sub',
  'nested',
  'subbg',
  'killmcp-both',
  'resume-killmcp',
  'fork-killmcp',
  'long-6',
];

/** A fixture's text; gzipped ones are unpacked. */
export function fixture(...path: string[]): string {
  const file = join(FIXTURES, ...path);
  return file.endsWith('.gz') ? gunzipSync(readFileSync(file)).toString('utf8') : readFileSync(file, 'utf8');
}

/** The objects of a JSONL text. */
export function linesOf(text: string): Line[] {
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
}

export function textOfLines(lines: readonly Line[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** A session of Claude Code 2.1.325 with its subagents. */
export function claudeSession(folder: string): CombinedTranscript & { readonly main: string } {
  const projects = join(FIXTURES, 'claude-code-2.1.325', folder, 'projects');
  const project = join(projects, readdirSync(projects)[0] ?? '');
  const main = readdirSync(project).find((name) => name.endsWith('.jsonl')) ?? '';
  const below = join(project, main.replace('.jsonl', ''), 'subagents');
  const names = existsSync(below) ? readdirSync(below).filter((name) => name.endsWith('.jsonl')) : [];
  return {
    main: readFileSync(join(project, main), 'utf8'),
    subagents: names.map((name) => ({
      id: name.replace('.jsonl', ''),
      transcript: readFileSync(join(below, name), 'utf8'),
      meta: JSON.parse(readFileSync(join(below, name.replace('.jsonl', '.meta.json')), 'utf8')),
    })),
  };
}

/** The stream of the same run. */
export function claudeStream(folder: string): Line[] {
  return linesOf(fixture('claude-code-2.1.325', folder, 'stream.jsonl'));
}

/** The large real session of Claude Code 2.1.38 with its subagent and its compaction run. */
export function realSession(): CombinedTranscript & { readonly main: string } {
  const folder = 'claude-code-2.1.38';
  return {
    main: fixture(folder, `${REAL_SESSION}.jsonl.gz`),
    subagents: ['agent-a2898e3', 'agent-acompact-e1f845'].map((id) => ({
      id,
      transcript: fixture(folder, `${id}.jsonl.gz`),
    })),
  };
}

/** An OpenCode session with its descendants. */
export function openCodeSession(folder: string): CombinedTranscript {
  const main = fixture('opencode-1.18.33', folder, 'export.json');
  const family = new Set([idsOf(main).id]);
  const children = readdirSync(join(FIXTURES, 'opencode-1.18.33/children'))
    .map((name) => fixture('opencode-1.18.33/children', name))
    .sort((a, b) => (idsOf(a).created < idsOf(b).created ? -1 : 1))
    .filter((child) => family.has(idsOf(child).parentID) && family.add(idsOf(child).id));
  return { main, subagents: children.map((transcript) => ({ id: idsOf(transcript).id, transcript })) };
}

export function openCodeStream(folder: string, file = 'events.jsonl'): Line[] {
  return linesOf(fixture('opencode-1.18.33', folder, file));
}

/** Reduces events to a state. */
export function stateOf(...batches: readonly (readonly ConversationEvent[])[]): SessionConversationState {
  return batches.reduce(reduceConversationEvents, createConversationState());
}

/** A state as plain data. */
export function plain(state: SessionConversationState): PlainState {
  return JSON.parse(JSON.stringify(state)) as PlainState;
}

export interface PlainBlock {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly [field: string]: unknown;
}

export interface PlainState {
  readonly blocks: readonly PlainBlock[];
  readonly subagents: readonly {
    readonly toolUseId: string;
    readonly blocks: readonly PlainBlock[];
    readonly [field: string]: unknown;
  }[];
}

function idsOf(text: string): { readonly id: string; readonly parentID: string; readonly created: number } {
  const { info } = JSON.parse(text) as { info: { id: string; parentID: string; time: { created: number } } };
  return { id: info.id, parentID: info.parentID, created: info.time.created };
}
