/**
 * Converts UI messages of the AI SDK to conversation events. The types contain only the fields that we read and write, so that any
 * installed version works, and messages that another version stored. `export/ui-messages.ts` converts the other way.
 */
import type { Attachment, ConversationBlock, ToolUseBlock } from '../conversation/blocks.ts';
import { type ConversationEvent, MAIN_CONVERSATION } from '../conversation/events.ts';
import { isStoredBlock } from '../conversation/is-conversation-event.ts';
import { attachment, NumberedNames } from './block-base.ts';
import { asList, asName, asObject, asText, type Json, keep } from './json-access.ts';

/** A part of a UI message. Its `type` says which fields it has. */
export interface UIMessagePart {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A UI message of the AI SDK. */
export interface UIMessage {
  readonly id: string;
  readonly role: 'system' | 'user' | 'assistant';
  readonly parts: readonly UIMessagePart[];
  readonly metadata?: unknown;
}

/** The type of the part that carries a block for which UI messages have no part. */
export const BLOCK_PART = 'data-holdfast-block';

/** Converts UI messages to conversation events. Parts of unknown types are kept as `unknown` blocks (D49). */
export function uiMessagesToEvents(
  messages: Iterable<UIMessage>,
  options: {
    readonly conversationId?: string /** For messages without a time. */;
    readonly timestamp?: string;
  } = {},
): ConversationEvent[] {
  const { conversationId = MAIN_CONVERSATION, timestamp = '' } = options;
  const callNames = new NumberedNames();
  const events: ConversationEvent[] = [];
  for (const message of messages) {
    const source = asObject(message);
    const id = asName(source?.id);
    if (!source || id === undefined) continue;
    const when = asText(asObject(source.metadata)?.createdAt) ?? timestamp;
    const reader = new UIMessageReader({ id, source, conversationId, timestamp: when, callNames });
    for (const block of reader.blocks()) events.push({ type: 'block:upsert', conversationId, timestamp: when, block });
  }
  return events;
}

interface MessageContext {
  readonly id: string;
  readonly source: Json;
  readonly conversationId: string;
  readonly timestamp: string;
  /** The names of calls: an id may be repeated. */
  readonly callNames: NumberedNames;
}

class UIMessageReader {
  readonly #context: MessageContext;
  #texts = 0;
  #others = 0;

  constructor(context: MessageContext) {
    this.#context = context;
  }

  *blocks(): Iterable<ConversationBlock> {
    const { id, source } = this.#context;
    const parts = objects(source.parts);
    if (source.role === 'user') yield this.#userBlock(id, parts);
    else if (source.role === 'system') {
      yield { ...this.#base(id), type: 'system', subtype: 'instructions', content: textOf(parts) };
    } else for (const part of parts) yield* this.#assistantBlocks(part);
  }

  *#assistantBlocks(part: Json): Iterable<ConversationBlock> {
    const type = asText(part.type) ?? '';
    const status = part.state === 'streaming' ? 'pending' : 'complete';
    if (type === 'text' || type === 'reasoning') {
      const kind = type === 'text' ? 'assistant_text' : 'thinking';
      const id = `${this.#context.id}:${this.#texts++}`;
      yield { ...this.#base(id), ...this.#messageField(), status, type: kind, content: asText(part.text) ?? '' };
    } else if (type === 'dynamic-tool' || type.startsWith('tool-')) yield* this.#callBlocks(part, type);
    else if (type === 'file' || type === 'reasoning-file') {
      const kind = type === 'file' ? 'assistant_text' : 'thinking';
      const attachments = [attachmentOf(part)];
      yield { ...this.#base(this.#otherId('file')), ...this.#messageField(), type: kind, content: '', attachments };
    } else if (type === 'steering-message') {
      const inner = objects(part.parts);
      yield this.#userBlock(asName(part.id) ?? this.#otherId('steering'), inner);
    } else if (type === BLOCK_PART && isStoredBlock(part.data)) {
      yield { ...part.data, conversationId: this.#context.conversationId };
    } else if (type !== 'step-start') {
      yield { ...this.#base(this.#otherId('part')), type: 'unknown', sourceType: type, data: keep(part) };
    }
  }

  #userBlock(id: string, parts: readonly Json[]): ConversationBlock {
    const attachments = parts.filter((part) => part.type === 'file').map(attachmentOf);
    const content = textOf(parts);
    return { ...this.#base(id), type: 'user_message', content, ...(attachments.length > 0 && { attachments }) };
  }

  *#callBlocks(part: Json, type: string): Iterable<ConversationBlock> {
    const id = this.#context.callNames.add(asName(part.toolCallId) ?? this.#otherId('call'));
    const toolName = type === 'dynamic-tool' ? (asText(part.toolName) ?? '') : type.slice('tool-'.length);
    const base = { ...this.#base(id), ...this.#messageField(), status: 'pending' } as const;
    yield { ...base, type: 'tool_use', toolUseId: id, toolName, ...inputOf(part) };
    const outcome = outcomeOf(part);
    if (outcome) yield { ...this.#base(`result:${id}`), type: 'tool_result', toolUseId: id, ...outcome };
  }

  #base(id: string): Pick<ConversationBlock, 'id' | 'conversationId' | 'timestamp'> & { status: 'complete' } {
    const { conversationId, timestamp } = this.#context;
    return { id, conversationId, timestamp, status: 'complete' };
  }

  #messageField(): Pick<ConversationBlock, 'message'> {
    const model = asText(asObject(this.#context.source.metadata)?.model);
    return { message: { id: this.#context.id, ...(model !== undefined && { model }) } };
  }

  #otherId(kind: string): string {
    return `${this.#context.id}:${kind}:${this.#others++}`;
  }
}

function objects(value: unknown): readonly Json[] {
  return asList(value)
    .map(asObject)
    .filter((item) => item !== undefined);
}

function inputOf(part: Json): Pick<ToolUseBlock, 'input' | 'inputText'> {
  const raw = asText(part.rawInput);
  if (part.state === 'input-streaming' && raw !== undefined) return { inputText: raw };
  if (part.input !== undefined) return { input: keep(part.input) };
  return raw === undefined ? {} : { inputText: raw };
}

/** The outcome of a call; `undefined` while it is open. */
function outcomeOf(part: Json): { readonly output: string; readonly isError: boolean } | undefined {
  switch (part.state) {
    case 'output-available':
      if (part.preliminary === true) return undefined;
      return { output: outputText(part.output), isError: false };
    case 'output-error':
      return { output: asText(part.errorText) ?? '', isError: true };
    case 'output-denied':
      return { output: asText(asObject(part.approval)?.reason) ?? 'Denied', isError: true };
    default:
      return undefined;
  }
}

function outputText(output: unknown): string {
  return typeof output === 'string' ? output : (JSON.stringify(keep(output)) ?? '');
}

function textOf(parts: readonly Json[]): string {
  return parts.map((part) => (part.type === 'text' ? (asText(part.text) ?? '') : '')).join('');
}

function attachmentOf(part: Json): Attachment {
  const mediaType = asText(part.mediaType) ?? 'application/octet-stream';
  return attachment({ mediaType, data: asText(part.url), filename: asText(part.filename) });
}
