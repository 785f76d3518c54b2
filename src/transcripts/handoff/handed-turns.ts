/**
 * What every target can hold: what people said, and responses whose calls each have one result.
 *
 *     messages ─▶ without reasoning, instructions and injected texts ─▶ each call with its result ─▶ ids and names that fit
 *              ─▶ secrets and paths replaced ─▶ turns
 */
import type {
  AssistantMessage,
  ConversationMessage,
  MediaPart,
  TextPart,
  ToolCall,
  ToolMessage,
} from '../../core/log/messages.ts';
import { API_RULES } from '../../formats/api-rules.ts';
import { type LossReport, onLossOf } from '../../formats/losses.ts';
import { hasContent } from '../../formats/message-parts.ts';
import { pairCalls } from '../../formats/pair-calls.ts';
import { BEGINNING_LEFT_OUT, EMPTY_FAILURE } from '../../formats/placeholders.ts';
import { renameCalls } from '../../formats/rename-calls.ts';
import { isKeepable, type Json } from '../json-access.ts';
import { LEFT_OUT } from '../message-builder.ts';
import type { HandedTexts } from './handed-texts.ts';

export type HandedPart = TextPart | MediaPart;

/** A call and its result. The id and the name fit `[A-Za-z0-9_-]{1,64}`, and no other call has the id. */
export interface HandedCall {
  readonly id: string;
  readonly name: string;
  readonly input: Json;
  /** The time of the result in the source. */
  readonly at: string;
  readonly content: readonly HandedPart[];
  readonly isError: boolean;
}

/** What a person said. */
export interface HandedPrompt {
  readonly kind: 'prompt';
  /** The time in the source; empty when it is not known. */
  readonly at: string;
  readonly content: readonly HandedPart[];
}

/** What a model responded: its texts, then its calls. */
export interface HandedResponse {
  readonly kind: 'response';
  readonly at: string;
  readonly texts: readonly string[];
  readonly calls: readonly HandedCall[];
}

export type HandedTurn = HandedPrompt | HandedResponse;

/** Call ids and names that every provider behind the targets takes. */
const RULES = API_RULES['hosted-claude'];

/** The turns of a conversation, the first of them a prompt; none when the conversation says nothing. */
export function handedTurns(
  messages: readonly ConversationMessage[],
  texts: HandedTexts,
  losses: LossReport,
): readonly HandedTurn[] {
  const options = onLossOf(losses);
  const own = messages.flatMap((message) => withoutForeign(message, losses));
  const paired = renameCalls(pairCalls(own, options), RULES, options);
  const reader = new TurnReader(texts, losses);
  for (const message of paired) reader.read(message);
  return reader.finish();
}

class TurnReader {
  readonly #turns: HandedTurn[] = [];
  readonly #texts: HandedTexts;
  readonly #losses: LossReport;
  /** The calls of the newest response that have no result yet, in the order of their results. */
  #calls: ToolCall[] = [];
  #results: HandedCall[] = [];

  constructor(texts: HandedTexts, losses: LossReport) {
    this.#texts = texts;
    this.#losses = losses;
  }

  read(message: ConversationMessage): void {
    if (message.role === 'user') this.#readPrompt(message.id, message.createdAt, message.content);
    else if (message.role === 'assistant') this.#readResponse(message);
    else if (message.role === 'tool') this.#readResult(message);
  }

  finish(): readonly HandedTurn[] {
    const [first] = this.#turns;
    if (first?.kind !== 'response') return this.#turns;
    this.#losses.add('beginning', 'the conversation starts with a response; a text of ours stands before it', '');
    return [{ kind: 'prompt', at: '', content: [{ type: 'text', text: BEGINNING_LEFT_OUT }] }, ...this.#turns];
  }

  #readPrompt(id: string, at: string, parts: readonly HandedPart[]): void {
    const typed = parts.map((part) => {
      const text = part.type === 'text' ? withoutInjected(part.text) : '';
      if (part.type !== 'text' || text === part.text) return part;
      this.#losses.add('injected text', 'the program of the agent wrote it, not a person', id);
      return { ...part, text };
    });
    // A prompt whose media are lost stays, without them: the response to it follows.
    if (!typed.some(hasContent)) return;
    this.#turns.push({ kind: 'prompt', at, content: this.#convertParts(typed, id).filter(hasContent) });
  }

  #readResponse({ id, createdAt, content, toolCalls = [] }: AssistantMessage): void {
    const texts = content.flatMap((part): readonly string[] => {
      if (part.type === 'text') return hasContent(part) ? [this.#texts.text(part.text, id)] : [];
      this.#losses.add(`${part.type} in a response`, 'no agent takes one there', id);
      return [];
    });
    const lastText = content.findLastIndex(hasContent);
    for (const { callId, after = content.length } of toolCalls) {
      if (after > lastText) continue;
      this.#losses.add('place of a call in its response', 'calls are written after the texts', callId);
    }
    if (texts.length === 0 && toolCalls.length === 0) return;
    this.#calls = [...toolCalls].reverse();
    this.#results = [];
    this.#turns.push({ kind: 'response', at: createdAt, texts, calls: this.#results });
  }

  #convertParts(parts: readonly HandedPart[], id: string): readonly HandedPart[] {
    return parts.flatMap((part): readonly HandedPart[] => {
      if (part.type === 'text') return [{ type: 'text', text: this.#texts.text(part.text, id) }];
      if (part.type !== 'image' && part.type !== 'file') {
        this.#losses.add('part of an unknown type', 'a newer version wrote it', id);
        return [];
      }
      if (!part.data.startsWith('sha256:')) return [this.#texts.medium(part)];
      this.#losses.add('external content', 'it is in the store; read it from there before', id);
      return [];
    });
  }

  /** Results follow their response in the order of its calls (`pairCalls`). */
  #readResult({ toolCallId, createdAt, content, isError }: ToolMessage): void {
    const call = this.#calls.pop();
    if (call === undefined) return;
    const input = this.#texts.input(call);
    const parts = this.#convertParts(content, toolCallId);
    const kept = parts.length > 1 ? parts.filter(hasContent) : parts;
    const isEmptyError = isError && !kept.some(hasContent);
    if (isEmptyError) this.#losses.add('empty error', `"${EMPTY_FAILURE}" stands in its place`, toolCallId);
    this.#results.push({
      ...{ id: toolCallId, name: call.name, input, at: createdAt, isError },
      content: isEmptyError ? [{ type: 'text', text: EMPTY_FAILURE }] : kept,
    });
    if (isInBackground(input, kept)) {
      this.#losses.add('background command', 'the agent that continues cannot reach its process', toolCallId);
    }
  }
}

/** Whether a call left a process or a subagent running, as Claude Code and Codex record it. */
function isInBackground(input: Json, content: readonly HandedPart[]): boolean {
  if (input.run_in_background === true) return true;
  return content.some((part) => part.type === 'text' && /^Process running with session ID \d+$/m.test(part.text));
}

/** A message without what belongs to one provider or one program; none when nothing is left. */
function withoutForeign(message: ConversationMessage, losses: LossReport): readonly ConversationMessage[] {
  if (message.role === 'system') {
    losses.add('instructions', LEFT_OUT.instructions, message.id);
    return [];
  }
  if (message.role !== 'assistant') return [message];
  const { content, toolCalls = [] } = message;
  const kept = content.filter(({ type }) => type !== 'reasoning');
  for (let n = kept.length; n < content.length; n++) {
    losses.add('reasoning', LEFT_OUT.reasoning, message.id);
  }
  const keptBefore = [0];
  for (const { type } of content) keptBefore.push((keptBefore.at(-1) ?? 0) + (type === 'reasoning' ? 0 : 1));
  const calls = toolCalls.map(
    ({ callId, name, arguments: written, after = content.length }): ToolCall => ({
      ...{ callId, name, arguments: written },
      after: keptBefore[after] ?? kept.length,
    }),
  );
  const provided = toolCalls.flatMap((call) => providedResult(message, call, losses));
  return [{ ...message, content: kept, ...(calls.length > 0 && { toolCalls: calls }) }, ...provided];
}

/** The result of a call that the provider ran, as a result like any other. */
function providedResult(
  { id, evaluationId, conversationId, sequence, turn, promptNs, promptKey, createdAt }: AssistantMessage,
  { callId, name, providerExecuted }: ToolCall,
  losses: LossReport,
): readonly ToolMessage[] {
  if (providerExecuted === undefined) return [];
  losses.add('call that a provider ran', 'written as a call with its result as text', callId);
  const { result, isError = false } = providerExecuted;
  if (result === undefined) return [];
  const text = typeof result === 'string' ? result : JSON.stringify(isKeepable(result) ? withoutProofs(result) : '');
  return [
    {
      ...{ id: `${id}/${callId}`, evaluationId, conversationId, sequence, turn, promptNs, promptKey, createdAt },
      ...{ role: 'tool', toolCallId: callId, toolName: name, content: [{ type: 'text', text }], isError },
    },
  ];
}

/** Without encrypted contents, which only their provider can read. */
function withoutProofs(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutProofs);
  const fields = Object.entries(value).filter(([name]) => !name.startsWith('encrypted_'));
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutProofs(field)]));
}

/**
 * The tags around texts with the user's role that the agent's program wrote: reminders, instructions, the environment. The agent that
 * continues writes its own. Notes that say what happened stay: that the user interrupted, or that a background task ended.
 */
const TAGS: ReadonlySet<string> = new Set([
  'system-reminder',
  'environment_context',
  'user_instructions',
  'permissions instructions',
  'turn_aborted',
  'local-command-caveat',
  'local-command-stdout',
  'local-command-stderr',
  'ide_opened_file',
  'ide_selection',
  'user-prompt-submit-hook',
  'user-memory-input',
]);

const WHOLE = /^\s*# AGENTS\.md instructions for [^\n]*\n\s*<INSTRUCTIONS>/;

/** The text without what the program put before it; empty when all of it is the program's. */
function withoutInjected(text: string): string {
  if (WHOLE.test(text)) return '';
  let at = 0;
  for (;;) {
    const start = text.slice(at, at + 100).search(/\S/);
    const tag = start < 0 ? undefined : tagAt(text, at + start);
    if (tag === undefined) return at === 0 ? text : text.slice(at).trimStart();
    const closing = `</${tag}>`;
    const end = text.indexOf(closing, at);
    if (end < 0) return '';
    at = end + closing.length;
  }
}

function tagAt(text: string, at: number): string | undefined {
  const name = /^<([a-z_-]+(?: instructions)?)>/.exec(text.slice(at, at + 50))?.[1];
  return name !== undefined && TAGS.has(name) ? name : undefined;
}
