/** The real Codex sessions of `test/fixtures`, and lines of rollouts for what they do not show. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type ConversationMessage, callsOf, textOf } from '../../src/core/log/messages.ts';
import { transcriptToMessages } from '../../src/transcripts/parse-transcript.ts';
import type { CombinedTranscript } from '../../src/transcripts/raw-transcript.ts';
import { FIXTURES, fixture, type Line, linesOf, type PlainBlock, textOfLines } from './fixtures.ts';

export interface CodexCapture {
  readonly version: string;
  readonly folder: string;
  /** `sessions`, or `sessions-after-kill` for the rollouts before the resume. */
  readonly place: string;
}

/** Every capture with rollouts. */
export const CODEX_CAPTURES: readonly CodexCapture[] = [
  ...[
    'plain',
    'reasoning',
    'tools',
    'parallel',
    'toolerr',
    'resume',
    'kill-tool',
    'kill-stream',
    'compact',
    'fork',
    'subagent',
    'codemode',
  ].map((folder) => ({ version: '0.166.0', folder, place: 'sessions' })),
  { version: '0.166.0', folder: 'kill-tool', place: 'sessions-after-kill' },
  { version: '0.166.0', folder: 'kill-stream', place: 'sessions-after-kill' },
  { version: '0.104.0', folder: 'tools', place: 'sessions' },
];

/** The names of a capture's rollouts, oldest first. */
export function rolloutNames({ version, folder, place }: CodexCapture): readonly string[] {
  return readdirSync(join(FIXTURES, `codex-${version}`, folder, place, '2026/11/16')).sort();
}

export function rolloutText({ version, folder, place }: CodexCapture, name: string): string {
  return fixture(`codex-${version}`, folder, place, '2026/11/16', name);
}

/** The thread in a rollout's name. */
export function threadOf(name: string): string {
  return name.slice('rollout-2026-11-16T10-44-49-'.length, -'.jsonl'.length);
}

/** A capture's session. Its main rollout is the oldest; of `fork`, the fork. */
export function codexSession(capture: CodexCapture): CombinedTranscript & { readonly main: string } {
  const names = rolloutNames(capture);
  const main = capture.folder === 'fork' ? (names[1] as string) : (names[0] as string);
  return {
    main: rolloutText(capture, main),
    subagents: names
      .filter((name) => name !== main)
      .map((name) => ({ id: threadOf(name), transcript: rolloutText(capture, name) })),
  };
}

/** The streams of a capture, one per process. */
export function codexStreams({ version, folder }: CodexCapture): readonly (readonly Line[])[] {
  const names = readdirSync(join(FIXTURES, `codex-${version}`, folder)).filter((name) => name.startsWith('stream'));
  return names.sort().map((name) => linesOf(fixture(`codex-${version}`, folder, name)));
}

/** Ids with a time, as Codex makes them: a higher number is a later id. */
export function threadId(number: number): string {
  return `01a1e3f5-${String(number).padStart(4, '0')}-7000-8000-000000000000`;
}

export const MAIN_THREAD = threadId(1);

/** Builds the lines of a rollout, with consecutive times and ordinals. */
export class RolloutBuilder {
  readonly lines: Line[] = [];
  readonly #isLegacy: boolean;
  readonly #name: string;
  #ordinal: number;
  #second: number;

  constructor(meta: Line = {}, options: { readonly ordinal?: number; readonly second?: number } = {}) {
    this.#isLegacy = meta.history_mode === undefined && meta.legacy === true;
    this.#ordinal = options.ordinal ?? 0;
    this.#second = options.second ?? 0;
    const { legacy: _, ...fields } = meta;
    this.#name = `${String(meta.id ?? MAIN_THREAD).slice(9, 13)}_${this.#ordinal}`;
    const mode = this.#isLegacy ? {} : { history_mode: 'paginated' };
    this.line('session_meta', { id: MAIN_THREAD, cwd: '/home/dev', ...mode, ...fields });
  }

  line(type: string, payload: Line, more: Line = {}): this {
    const timestamp = new Date(Date.UTC(2026, 10, 16, 10, 0, this.#second++)).toISOString();
    const ordinal = this.#isLegacy ? {} : { ordinal: this.#ordinal++ };
    this.lines.push({ timestamp, ...ordinal, type, payload, ...more });
    return this;
  }

  item(payload: Line, more?: Line): this {
    return this.line('response_item', payload, more);
  }

  event(payload: Line): this {
    return this.line('event_msg', payload);
  }

  completed(item: Line): this {
    return this.event({ type: 'item_completed', item });
  }

  prompt(text: string): this {
    return this.item({
      type: 'message',
      id: `msg_user_${this.#name}_${this.lines.length}`,
      role: 'user',
      content: [{ type: 'input_text', text }],
      internal_chat_message_metadata_passthrough: { content_item_kinds: ['user.text'] },
    });
  }

  says(text: string, more?: Line): this {
    const content = [{ type: 'output_text', text }];
    return this.item(
      { type: 'message', id: `msg_${this.#name}_${this.lines.length}`, role: 'assistant', content },
      more,
    );
  }

  calls(callId: string, name = 'exec_command', input: unknown = { cmd: 'ls' }, more: Line = {}): this {
    const fields = { name, arguments: JSON.stringify(input), call_id: callId };
    return this.item({ type: 'function_call', id: `fc_${callId}`, ...fields, ...more });
  }

  returns(callId: string, output: unknown, type = 'function_call_output'): this {
    return this.item({ type, call_id: callId, output });
  }

  usage(responseId: string, input = 100, output = 10): this {
    const usage = { input_tokens: input, output_tokens: output };
    return this.line('token_usage_record', { response_id: responseId, usage });
  }

  get text(): string {
    return textOfLines(this.lines);
  }
}

/** Types, names and texts of blocks. */
export function outline(blocks: readonly PlainBlock[]): string[] {
  return blocks.map(({ type, status, toolName, subtype, content, output }) => {
    const name = toolName ?? subtype;
    const text = content ?? output;
    return [`${type}${status === 'error' ? '!' : ''}`, name, text].filter((part) => part !== undefined).join(' ');
  });
}

/** Roles and texts of messages, and the ids of calls and results. */
export function messagesOf(builder: RolloutBuilder, from: 'start' | 'compaction' = 'start'): string[] {
  return transcriptToMessages('codex', builder.text, { from }).map((message: ConversationMessage) => {
    if (message.role === 'tool') return `tool ${message.toolCallId}${message.isError ? '!' : ''}: ${textOf(message)}`;
    return `${message.role}: ${textOf(message)}${callsOf(message)
      .map(({ callId }) => ` [${callId}]`)
      .join('')}`;
  });
}

/** The lines of all captures, for fuzzing: short ones, so that damage hits what matters. */
export const CODEX_LINES: readonly Line[] = CODEX_CAPTURES.map(codexSession)
  .flatMap(({ main, subagents }) => [main, ...subagents.map(({ transcript }) => transcript)])
  .flatMap((text) => linesOf(text as string))
  .filter((line) => JSON.stringify(line).length < 1500);

/** The messages of all captured streams. */
export const CODEX_STREAM: readonly Line[] = CODEX_CAPTURES.flatMap((capture) => codexStreams(capture).flat());
