/**
 * Writes a session of Claude Code: one line per content block, chained by `parentUuid`. The blocks of one response share a `message.id`;
 * without it Claude Code reads them as separate messages, and with one id everywhere it merges the history.
 */
import { userBlocks } from '../../formats/anthropic-blocks.ts';
import { onLossOf } from '../../formats/losses.ts';
import { EMPTY_MESSAGE } from '../../formats/placeholders.ts';
import type { Json } from '../json-access.ts';
import type { HandedCall, HandedPart, HandedResponse, HandedTurn } from './handed-turns.ts';
import {
  isUuid,
  jsonLines,
  lineCount,
  Timeline,
  type TranscriptWriter,
  type WriterContext,
} from './transcript-writer.ts';

/** The version whose lines these are. */
const VERSION = '2.1.325';
/** How Claude Code itself closes a conversation that does not end with a response. */
const CLOSING = { model: '<synthetic>', text: 'No response requested.' };
const NO_USAGE = { input_tokens: 0, output_tokens: 0 };

export const claudeWriter: TranscriptWriter = {
  accepts: isUuid,
  newSessionId: ({ newId }) => newId(),
  write(turns, context) {
    const session = new ClaudeSession(turns, context);
    for (const turn of turns) session.add(turn);
    session.close();
    return jsonLines(session.lines);
  },
};

class ClaudeSession {
  readonly lines: Json[] = [];
  readonly #context: WriterContext;
  readonly #times: Timeline;
  #parent: string | null = null;
  #endsWithText = false;

  constructor(turns: readonly HandedTurn[], context: WriterContext) {
    this.#context = context;
    this.#times = new Timeline(lineCount(turns), context.at);
  }

  add(turn: HandedTurn): void {
    if (turn.kind === 'response') this.#addResponse(turn);
    else this.#user(this.#content(turn.content, '') || EMPTY_MESSAGE, turn.at);
  }

  close(): void {
    if (this.#endsWithText) return;
    const { model, text } = CLOSING;
    this.#context.losses.add('end', `the conversation does not end with a text of the model; "${text}" is added`, '');
    this.#assistant({ id: this.#messageId(), model, stop_reason: 'stop_sequence' }, { type: 'text', text }, '');
  }

  #addResponse({ texts, calls, at }: HandedResponse): void {
    const id = this.#messageId();
    const last = calls.length > 0 ? 'tool_use' : 'end_turn';
    const blocks = [
      ...texts.map((text): Json => ({ type: 'text', text })),
      ...calls.map(({ id: callId, name, input }): Json => ({ type: 'tool_use', id: callId, name, input })),
    ];
    for (const [i, block] of blocks.entries()) {
      this.#assistant(
        { id, model: this.#context.model, stop_reason: i === blocks.length - 1 ? last : null },
        block,
        at,
      );
    }
    for (const call of calls) this.#addResult(call);
  }

  #addResult({ id, at, content, isError }: HandedCall): void {
    const written = this.#content(content, id);
    this.#user([{ type: 'tool_result', tool_use_id: id, content: written, ...(isError && { is_error: true }) }], at);
  }

  /** A single text as text, anything else as blocks. */
  #content(parts: readonly HandedPart[], id: string): string | readonly object[] {
    const blocks = parts.flatMap((part) => userBlocks(part, id, onLossOf(this.#context.losses)));
    const [only] = blocks;
    if (only === undefined) return '';
    return blocks.length === 1 && only.type === 'text' ? only.text : blocks;
  }

  #user(content: string | readonly object[], at: string): void {
    this.#endsWithText = false;
    this.#line('user', { role: 'user', content }, at);
  }

  #assistant(
    fields: { readonly id: string; readonly model: string | undefined; readonly stop_reason: string | null },
    block: Json,
    at: string,
  ): void {
    const { id, model, stop_reason } = fields;
    this.#endsWithText = block.type === 'text';
    // Claude Code continues with the model of the last response, and warns of one that it does not know.
    const named = { id, type: 'message', role: 'assistant', ...(model !== undefined && { model }) };
    this.#line('assistant', { ...named, content: [block], stop_reason, stop_sequence: null, usage: NO_USAGE }, at);
  }

  #line(type: 'user' | 'assistant', message: Json, at: string): void {
    const { cwd, sessionId, newId } = this.#context;
    const uuid = newId();
    this.lines.push({
      ...{ parentUuid: this.#parent, isSidechain: false, userType: 'external', cwd, sessionId, version: VERSION },
      ...{ gitBranch: '', type, message, uuid, timestamp: this.#times.nextText(at) },
    });
    this.#parent = uuid;
  }

  #messageId(): string {
    return `msg_${this.#context.newId().replaceAll('-', '')}`;
  }
}

/** The name of the folder in which Claude Code stores the sessions of a directory. */
export function claudeProjectFolder(cwd: string): string {
  const name = cwd.replaceAll(/[^a-zA-Z0-9]/g, '-');
  if (name.length <= MAX_NAME) return name;
  let hash = 0;
  for (let i = 0; i < cwd.length; i++) hash = ((hash << 5) - hash + cwd.charCodeAt(i)) | 0;
  return `${name.slice(0, MAX_NAME)}-${Math.abs(hash).toString(36)}`;
}

const MAX_NAME = 200;
