import { randomUUID } from 'node:crypto';
import type { Evaluation } from '../../core/fold/evaluations.ts';
import { type ConversationMessage, textOf, type UserMessage } from '../../core/log/messages.ts';
import type { Run } from '../../loop/evaluate/run.ts';
import { ConversationRecorder } from '../conversation-recorder.ts';
import {
  blocksOf,
  OUTPUT_TOOL,
  readResponse,
  readResult,
  readUsage,
  writeContent,
  writeResponse,
} from './claude-blocks.ts';
import type { ClaudeBlock, ClaudeTranscriptEntry } from './sdk-types.ts';

/**
 * The SDK's transcript and our log hold the same conversation, but a crash may have cut either one earlier. Before a resume each
 * gets what only the other has, so that the model sees no finished call as unknown (D57).
 */

interface Line extends ClaudeTranscriptEntry {
  readonly parentUuid?: string | null;
  readonly message?: {
    readonly id?: string;
    readonly model?: string;
    readonly stop_reason?: string | null;
    readonly usage?: unknown;
  };
  readonly attachment?: { readonly type?: string; readonly prompt?: unknown };
}

/** Records what the transcript has of this conversation after the newest message to the agent. */
export async function importTranscript(run: Run, entries: readonly ClaudeTranscriptEntry[]): Promise<void> {
  const recorder = new ConversationRecorder(run);
  const lines = chainOf(entries);
  const unfinished = unfinishedResponses(lines);
  const outputCalls = new Set<unknown>();
  for (const [i, line] of lines.entries()) {
    const { message } = line;
    const blocks = blocksOf(message);
    for (const block of blocks) if (block.name === OUTPUT_TOOL) outputCalls.add(block.id);
    if (line.type === 'user') {
      for (const block of blocks) {
        if (block.type !== 'tool_result' || outputCalls.has(block.tool_use_id)) continue;
        await recorder.recordResult(String(block.tool_use_id), readResult(block));
      }
      continue;
    }
    const id = message?.id;
    if (id === undefined || unfinished.has(id) || recorder.hasResponse(id)) continue;
    const whole = lines.slice(i).filter((other) => other.type === 'assistant' && other.message?.id === id);
    const read = readResponse(whole.flatMap((other) => blocksOf(other.message)));
    await recorder.recordResponse({
      providerMessageId: id,
      ...read,
      usage: readUsage(message?.usage),
      model: message?.model,
    });
  }
}

/** The lines after the newest prompt that our log knows of; none when the transcript does not have it. */
export function linesSince(
  entries: readonly ClaudeTranscriptEntry[],
  evaluation: Evaluation,
): readonly ClaudeTranscriptEntry[] {
  const newest = evaluation.messages.filter((message) => message.role === 'user').at(-1);
  if (!newest) return [];
  const wanted = textOf(newest);
  const at = entries.findLastIndex((entry) => placeIn(promptTextsIn(entry as Line), wanted) !== undefined);
  return at < 0 ? [] : entries.slice(at + 1);
}

/** What a resume needs: the transcript to continue from, and the next message to the agent. */
export interface PreparedTranscript {
  /** The lines as they are, those that lack something to be whole left out. */
  readonly entries: readonly ClaudeTranscriptEntry[];
  /** Lines that our log has and the transcript lacks. */
  readonly missing: readonly ClaudeTranscriptEntry[];
  /** Messages to the agent that our log has and the transcript lacks: the prompt. Absent: the transcript has all of them. */
  readonly prompt: UserMessage['content'] | undefined;
}

/** The fields of a line that name its session. */
export interface LineContext {
  readonly sessionId: string;
  readonly cwd: string;
  /** Names of our own tools. */
  readonly ours: ReadonlySet<string>;
}

/** Compares the transcript with our messages, oldest first and without the instructions. */
export function prepareTranscript(
  entries: readonly ClaudeTranscriptEntry[],
  messages: readonly ConversationMessage[],
  context: LineContext,
): PreparedTranscript {
  const usable = isBroken(entries) ? [] : entries;
  const unfinished = unfinishedResponses(chainOf(usable));
  const kept = usable.filter((entry) => !unfinished.has((entry as Line).message?.id ?? ''));
  const writer = new LineWriter(kept as readonly Line[], context);
  const lastResponse = messages.findLastIndex(({ role }) => role === 'assistant' || role === 'tool');
  const trailing: UserMessage[] = [];
  for (const [i, message] of messages.entries()) {
    if (message.role === 'user' && i > lastResponse) {
      if (!writer.takePrompt(message)) trailing.push(message);
    } else writer.write(message);
  }
  const prompt = trailing.flatMap((message) => message.content);
  return { entries: kept, missing: writer.missing, prompt: prompt.length > 0 ? prompt : undefined };
}

/** Lines of the conversation itself: messages of the user and the model. Not subagents', not the program's own notes. */
function chainOf(entries: readonly ClaudeTranscriptEntry[]): readonly Line[] {
  return (entries as readonly Line[]).filter(
    ({ type, isMeta, message }) =>
      (type === 'assistant' || type === 'user') && isMeta !== true && message?.model !== '<synthetic>',
  );
}

/** Responses that were cut: they announce calls that are missing, or never ended. */
function unfinishedResponses(lines: readonly Line[]): ReadonlySet<string> {
  const responses = new Map<string, { stop: string | null | undefined; calls: boolean }>();
  for (const { type, message } of lines) {
    if (type !== 'assistant' || message?.id === undefined) continue;
    const calls =
      blocksOf(message).some((block) => block.type === 'tool_use') || (responses.get(message.id)?.calls ?? false);
    responses.set(message.id, { stop: message.stop_reason, calls });
  }
  const cut = [...responses].filter(([, { stop, calls }]) => !calls && (stop === 'tool_use' || !stop));
  return new Set(cut.map(([id]) => id));
}

/** Whether lines are missing in the middle, as when a batch could not be mirrored: then our log is the better record. */
function isBroken(entries: readonly ClaudeTranscriptEntry[]): boolean {
  const known = new Set(entries.map(({ uuid }) => uuid));
  return (entries as readonly Line[]).some(
    ({ parentUuid }) => typeof parentUuid === 'string' && !known.has(parentUuid),
  );
}

function isPrompt(line: Line): boolean {
  return (
    line.type === 'user' &&
    line.isMeta !== true &&
    blocksOf(line.message).every((block) => block.type !== 'tool_result')
  );
}

/** The texts of a line that holds messages to the agent: a prompt, or steers (D61). Undefined for any other line. */
function promptTextsIn(line: Line): readonly string[] | undefined {
  const { type, attachment } = line;
  if (type === 'attachment' && attachment?.type === 'queued_command') return textsOf({ content: attachment.prompt });
  return isPrompt(line) ? textsOf(line.message) : undefined;
}

function textsOf(message: unknown): readonly string[] {
  return blocksOf(message).flatMap((block) => (block.type === 'text' ? [String(block.text)] : []));
}

/** Where a message stands among the texts of a line: several messages may have been sent as one. */
function placeIn(
  texts: readonly string[] | undefined,
  wanted: string,
): { readonly from: number; readonly count: number } | undefined {
  if (texts?.length === 0 && wanted === '') return { from: 0, count: 0 };
  for (const from of texts?.keys() ?? []) {
    let text = '';
    for (const [i, piece] of texts?.slice(from).entries() ?? []) {
      text += piece;
      if (text === wanted) return { from, count: i + 1 };
      if (!wanted.startsWith(text)) break;
    }
  }
  return undefined;
}

/** Writes lines as Claude Code would have, after those that are there. */
class LineWriter {
  readonly missing: ClaudeTranscriptEntry[] = [];
  readonly #context: LineContext;
  readonly #responses = new Set<string>();
  readonly #results = new Set<string>();
  /** Messages to the agent, line by line, that were not found in our log yet. */
  readonly #prompts: (readonly string[])[] = [];
  /** The line of each call: its result hangs off it. */
  readonly #calls = new Map<string, string>();
  readonly #version: unknown;
  #leaf: string | null = null;

  constructor(lines: readonly Line[], context: LineContext) {
    this.#context = context;
    this.#version = lines.find(({ version }) => typeof version === 'string')?.version ?? '2.1.325';
    for (const line of lines) {
      if (line.uuid !== undefined && 'parentUuid' in line) this.#leaf = line.uuid;
      if (line.type === 'assistant' && line.message?.id !== undefined) this.#responses.add(line.message.id);
      const texts = promptTextsIn(line);
      if (texts) this.#prompts.push(texts);
      for (const block of blocksOf(line.message)) this.#note(block, line.uuid);
    }
  }

  /** Whether the transcript has this prompt; each is found once. */
  takePrompt(message: UserMessage): boolean {
    const wanted = textOf(message);
    for (const [i, texts] of this.#prompts.entries()) {
      const place = placeIn(texts, wanted);
      if (!place) continue;
      const rest = texts.toSpliced(place.from, place.count);
      this.#prompts.splice(i, 1, ...(rest.length > 0 ? [rest] : []));
      return true;
    }
    return false;
  }

  write(message: ConversationMessage): void {
    if (message.role === 'user') {
      if (this.takePrompt(message)) return;
      this.#line('user', { role: 'user', content: writeContent(message.content) }, { timestamp: message.createdAt });
    } else if (message.role === 'tool') {
      if (!this.#results.has(message.toolCallId) && this.#calls.has(message.toolCallId)) this.#result(message);
    } else if (message.role === 'assistant') {
      const id = message.providerMessageId ?? `msg_${message.id.replace(/\W/g, '_')}`;
      const blocks = writeResponse(message, this.#context.ours);
      const calls = blocks.some((block) => block.type === 'tool_use');
      // A response may have been recorded in pieces: the transcript's blocks show which of them it has.
      const fresh = this.#responses.has(id)
        ? blocks.filter((block) => block.type === 'tool_use' && !this.#calls.has(String(block.id)))
        : blocks;
      for (const block of fresh) {
        const stop_reason = calls ? 'tool_use' : 'end_turn';
        const usage = { input_tokens: 0, output_tokens: 0 };
        const body = { id, type: 'message', role: 'assistant', model: 'claude', content: [block], stop_reason, usage };
        this.#line('assistant', body, { timestamp: message.createdAt });
      }
    }
  }

  #result(message: Extract<ConversationMessage, { readonly role: 'tool' }>): void {
    const { toolCallId: id, isError, content } = message;
    const source = this.#calls.get(id) ?? null;
    // An empty result that is an error is refused by the API.
    const shown = writeContent(content).filter((block) => block.type !== 'text' || String(block.text).trim() !== '');
    const text = shown.length > 0 ? shown : [{ type: 'text', text: isError ? 'failed' : '(no output)' }];
    const block = { type: 'tool_result', tool_use_id: id, content: text, ...(isError && { is_error: true }) };
    const place = { parentUuid: source, sourceToolAssistantUUID: source, timestamp: message.createdAt };
    this.#line('user', { role: 'user', content: [block] }, place);
  }

  #line(
    type: 'user' | 'assistant',
    message: { readonly content: readonly ClaudeBlock[] } & Record<string, unknown>,
    more: { readonly timestamp: string } & Record<string, unknown>,
  ): void {
    const uuid = randomUUID();
    const { sessionId, cwd } = this.#context;
    this.missing.push({
      parentUuid: this.#leaf,
      isSidechain: false,
      type,
      message,
      uuid,
      userType: 'external',
      entrypoint: 'sdk-ts',
      cwd,
      sessionId,
      version: this.#version,
      ...more,
    });
    this.#leaf = uuid;
    for (const block of message.content) this.#note(block, uuid);
  }

  #note(block: ClaudeBlock, uuid: string | undefined): void {
    if (block.type === 'tool_use' && uuid !== undefined) this.#calls.set(String(block.id), uuid);
    if (block.type === 'tool_result') this.#results.add(String(block.tool_use_id));
  }
}
