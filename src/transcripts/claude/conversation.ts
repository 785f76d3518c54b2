/**
 * Converts the entries of a Claude agent, in the order in which they happened, to blocks and subagents.
 *
 *     stream ─▶ entryOfMessage ─┐
 *                               ├─▶ ClaudeConversation ─▶ BlockWriter ─▶ events
 *     lines ──▶ entryOfLine ────┘
 *
 * The assistant's messages, calls and results are converted here; everything else in `asides.ts`.
 */
import type { Attachment, BlockMessage, TextBlock } from '../../conversation/blocks.ts';
import { MAIN_CONVERSATION } from '../../conversation/events.ts';
import { blockBase, resultBlock, unknownBlock } from '../block-base.ts';
import { type BlockWriter, spawnFields } from '../block-writer.ts';
import { asName, asObject, asText, type Json } from '../json-access.ts';
import { Asides } from './asides.ts';
import { attachmentOf, contentBlocks, contentText, isAgentTool, otherParts } from './content.ts';
import { type ClaudeEntry, usageOf } from './entry.ts';
import type { PartialMessages } from './partial-messages.ts';
import type { ReturnedFields } from './skim-line.ts';
import { SubagentThreads } from './subagent-threads.ts';
import { API_ERROR } from './user-text.ts';

/** A finished content block of an assistant's message, and its conversation. */
interface ContentBlock {
  readonly conversationId: string;
  readonly message: BlockMessage;
  readonly block: Json;
  /** The block's id, made from its position in the message (D46). */
  readonly ordinalId: string;
  readonly timestamp: string;
  readonly isApiError?: boolean;
}

export class ClaudeConversation {
  readonly #writer: BlockWriter;
  readonly #partials: PartialMessages | undefined;
  readonly #asides: Asides;
  readonly threads: SubagentThreads;
  /** The number of blocks so far, by conversation and message. */
  readonly #blockCounts = new Map<string, Map<string, number>>();
  #unnamed = 0;

  constructor(writer: BlockWriter, partials?: PartialMessages) {
    this.#writer = writer;
    this.#partials = partials;
    this.threads = new SubagentThreads(writer);
    this.#asides = new Asides(writer, (notification, at) => this.threads.notify(notification, at));
  }

  /** The conversation of an entry: the call that started its agent; the agent's own id until that is known (D41). */
  conversationOf(entry: ClaudeEntry): string {
    if (entry.parentToolUseId !== undefined) return entry.parentToolUseId;
    return entry.agentId === undefined ? MAIN_CONVERSATION : this.threads.conversationOf(entry.agentId);
  }

  add(entry: ClaudeEntry): void {
    const conversationId = this.conversationOf(entry);
    if (entry.agentId !== undefined) this.threads.noteLine(entry.agentId, conversationId, entry.timestamp);
    switch (entry.type) {
      case 'assistant':
        this.#addAssistant(entry, conversationId);
        break;
      case 'user':
        this.#addUser(entry, conversationId);
        break;
      default:
        this.#asides.add(entry, conversationId);
    }
  }

  /** The id of a message's next block: its position, counted across lines (D46), or the one that its source names. */
  ordinalId(conversationId: string, messageId: string, index?: number): string {
    let counts = this.#blockCounts.get(conversationId);
    if (counts === undefined) {
      counts = new Map();
      this.#blockCounts.set(conversationId, counts);
    }
    const next = counts.get(messageId) ?? 0;
    const ordinal = index === undefined || index < next ? next : index;
    counts.set(messageId, ordinal + 1);
    return `${messageId}:${ordinal}`;
  }

  /** Writes a finished content block of an assistant's message. */
  addContent(part: ContentBlock): void {
    const { conversationId, message, block, ordinalId, timestamp } = part;
    const type = asText(block.type) ?? '';
    const base = blockBase(ordinalId, conversationId, timestamp, message);
    switch (type) {
      case 'text': {
        const content = asText(block.text) ?? '';
        if (part.isApiError) {
          const shown = content.trim() === '' ? API_ERROR : content;
          this.#writer.upsert({ ...base, status: 'error', type: 'error', subtype: 'api_error', content: shown });
        } else this.#addText({ ...base, type: 'assistant_text', content });
        break;
      }
      case 'thinking':
      case 'redacted_thinking':
        this.#addText({ ...base, type: 'thinking', content: asText(block.thinking) ?? '' });
        break;
      case 'fallback': // another model continued: bookkeeping
        break;
      case 'tool_use':
      case 'server_tool_use':
      case 'mcp_tool_use':
        this.#addCall(part);
        break;
      default:
        if (type.endsWith('_tool_result')) this.#addResult(conversationId, block, undefined, timestamp);
        else this.#writer.upsert(unknownBlock(base, `content/${type}`, block, this.#writer));
    }
  }

  /** Writes a text that says something: a third of all thoughts are empty, and so are some texts. */
  #addText(block: TextBlock): void {
    if (block.content.trim() !== '') this.#writer.upsert(block);
    else if (this.#writer.find(block.conversationId, block.id)) {
      this.#writer.remove(block.conversationId, block.id, block.timestamp); // it was streaming
    }
  }

  #addAssistant(entry: ClaudeEntry, conversationId: string): void {
    const { message, timestamp, isApiError } = entry;
    if (message === undefined) {
      this.#asides.addUnknown(entry, conversationId);
      return;
    }
    const id = asName(message.id) ?? entry.uuid ?? `message:${++this.#unnamed}`;
    // The usage of a streaming message is in the stream's own events; this one is only its first report.
    const isStreaming = this.#partials?.isStreaming(conversationId, id) === true;
    const usage = isStreaming ? undefined : usageOf(message.usage);
    const info = this.#writer.message(conversationId, { id, model: asName(message.model), usage }, timestamp);
    for (const block of contentBlocks(message.content)) {
      const ordinalId =
        this.#partials?.claim(conversationId, id, asText(block.type) ?? '') ??
        this.ordinalId(conversationId, id, entry.blockIndex);
      this.addContent({ conversationId, message: info, block, ordinalId, timestamp, isApiError });
    }
  }

  #addCall({ conversationId, message, block, ordinalId, timestamp }: ContentBlock): void {
    const toolName = asText(block.name) ?? '';
    // Providers omit ids (D11).
    const toolUseId = this.#writer.callId(conversationId, asName(block.id) ?? ordinalId, message.id);
    if (isAgentTool(toolName) && toolUseId !== MAIN_CONVERSATION) {
      const input = asObject(block.input);
      const agentId = asName(input?.resume); // an earlier agent is resumed (D41)
      if (agentId !== undefined) this.threads.link(agentId, toolUseId);
      this.#writer.spawn(conversationId, { toolUseId, agentId, ...spawnFields(input) }, timestamp, message);
      return;
    }
    this.#writer.upsert({
      ...blockBase(toolUseId, conversationId, timestamp, message, 'pending'),
      type: 'tool_use',
      toolUseId,
      toolName,
      ...(block.input !== undefined && { input: this.#writer.diagnostics.kept(block.input, toolUseId) }),
    });
  }

  #addUser(entry: ClaudeEntry, conversationId: string): void {
    const { message, timestamp } = entry;
    if (message === undefined) {
      this.#asides.addUnknown(entry, conversationId);
      return;
    }
    const texts: string[] = [];
    const attachments: Attachment[] = [];
    for (const block of contentBlocks(message.content)) {
      const attachment = attachmentOf(block);
      if (block.type === 'tool_result') this.#addResult(conversationId, block, entry.toolUseResult, timestamp);
      else if (block.type === 'text') texts.push(asText(block.text) ?? '');
      else if (attachment) attachments.push(attachment);
      else {
        const id = this.ordinalId(conversationId, entry.uuid ?? `user:${++this.#unnamed}`);
        this.#asides.addUnknownPart(id, conversationId, block, timestamp);
      }
    }
    if (texts.length > 0 || attachments.length > 0) {
      this.#asides.addUserText(entry, conversationId, texts.join('\n'), attachments);
    }
  }

  /** Closes the call of a result; the result of a subagent's call is written to the subagent's block (D38). */
  #addResult(conversationId: string, block: Json, returned: unknown, timestamp: string): void {
    const named = asName(block.tool_use_id);
    if (named === undefined) return;
    const toolUseId = this.#writer.latestCallId(conversationId, named);
    const fields: ReturnedFields | undefined = asObject(returned);
    const result = { conversationId, toolUseId, block, returned: fields, timestamp };
    if (this.threads.startedBy(toolUseId, result.returned)) {
      this.threads.addResult(result);
      return;
    }
    const { content, is_error } = block;
    const shown = { output: contentText(content), isError: is_error === true, parts: otherParts(content) };
    this.#writer.upsert(resultBlock(conversationId, toolUseId, shown, timestamp));
    if (result.returned) this.threads.addReport(result);
  }
}
