/** Converts the parts of a message to blocks: texts, reasoning, calls with their results, subagents, notices. */
import type {
  Attachment,
  BlockBase,
  BlockMessage,
  BlockStatus,
  ConversationBlock,
  NoticeBlock,
} from '../../conversation/blocks.ts';
import { MAIN_CONVERSATION } from '../../conversation/events.ts';
import { attachment, blockBase, resultBlock, unknownBlock } from '../block-base.ts';
import { type BlockWriter, spawnFields } from '../block-writer.ts';
import { asList, asName, asObject, asText, type Json, keep } from '../json-access.ts';
import type { OpenCodeMessage } from './message.ts';
import { isoTime, partTime, timeField } from './time.ts';

/** The tool that starts a child session. */
const TASK_TOOL = 'task';

/** Parts of bookkeeping: counted, not shown. */
const BOOKKEEPING: ReadonlySet<string> = new Set(['step-start', 'step-finish', 'snapshot', 'patch', 'agent']);

type Notice = Pick<NoticeBlock, 'type' | 'content' | 'subtype' | 'data'>;

export class PartWriter {
  readonly #writer: BlockWriter;
  readonly #onChild: (sessionId: string, toolUseId: string) => void;

  /** `onChild` receives the call that a child session works for. */
  constructor(writer: BlockWriter, onChild: (sessionId: string, toolUseId: string) => void) {
    this.#writer = writer;
    this.#onChild = onChild;
  }

  /** Writes a part in its current state. */
  add(message: OpenCodeMessage, part: Json, at: string): void {
    const id = asName(part.id) ?? '';
    const type = asText(part.type) ?? '';
    if (BOOKKEEPING.has(type)) return;
    const isUsers = message.role === 'user' && part.synthetic !== true;
    if (isUsers && (type === 'text' || type === 'file')) {
      message.parts.set(id, part);
      message.blockIds.set(id, message.id);
      this.writeUser(message, at);
    } else if (type === 'text' || type === 'reasoning') this.#addText(message, id, part, at);
    else if (type !== 'tool') this.#addNotice(message, id, part, at, type);
    else if (part.tool === TASK_TOOL && part.callID !== MAIN_CONVERSATION) this.#addTask(message, id, part, at);
    else this.#addTool(message, id, part, at);
  }

  /** Writes the user's texts and attachments as one block, whatever parts they are in. */
  writeUser(message: OpenCodeMessage, at: string): void {
    const texts: string[] = [];
    const attachments: Attachment[] = [];
    for (const part of message.parts.values()) {
      if (part.type === 'text') texts.push(asText(part.text) ?? '');
      else attachments.push(attachmentOf(part));
    }
    const base = blockBase(message.id, message.conversationId, isoTime(message.created));
    const files = attachments.length > 0 && { attachments };
    this.#writer.upsert({ ...base, type: 'user_message', content: texts.join('\n'), ...files }, at);
  }

  #addText(message: OpenCodeMessage, id: string, part: Json, at: string): void {
    const content = asText(part.text) ?? '';
    // A slow reader gets a message as complete before its parts: an empty text is only its start.
    const isPartOfWhole = message.completed !== undefined && content !== '';
    const isDone = message.role === 'user' || timeField(part, 'end') !== undefined || isPartOfWhole;
    if (isDone && content.trim() === '') {
      this.#drop(message, id, at);
      return;
    }
    const base = this.#base(message, id, part, isDone ? 'complete' : 'pending');
    if (message.role === 'user') {
      this.#write(message, id, { ...base, type: 'system', subtype: 'synthetic', content }, at);
      return;
    }
    const type = part.type === 'reasoning' ? 'thinking' : message.isSummary ? 'compaction' : 'assistant_text';
    this.#write(message, id, { ...base, type, content }, at);
  }

  /** Removes the block of a part that turned out to be blank: a page would show an empty box. */
  #drop(message: OpenCodeMessage, id: string, at: string): void {
    const blockId = message.blockIds.get(id);
    if (blockId === undefined) return;
    message.blockIds.delete(id);
    this.#writer.remove(message.conversationId, blockId, at);
  }

  #addTool(message: OpenCodeMessage, id: string, part: Json, at: string): void {
    const state = asObject(part.state) ?? {};
    const toolUseId = this.#callId(message, id, part);
    const isOver = state.status === 'completed' || state.status === 'error';
    const known = this.#writer.find(message.conversationId, toolUseId);
    const hasInput = state.status !== 'pending' && state.input !== undefined;
    // The server sends a call again with every line of its output; only its first state, its input and its end are new.
    if (known?.type !== 'tool_use' || isOver || (hasInput && known.input === undefined)) {
      const inputText = hasInput ? undefined : asName(state.raw);
      this.#write(
        message,
        id,
        {
          ...this.#base(message, toolUseId, part, 'pending'),
          type: 'tool_use',
          toolUseId,
          toolName: asText(part.tool) ?? '',
          ...(hasInput && { input: this.#writer.diagnostics.kept(state.input, id) }),
          ...(inputText !== undefined && { inputText }),
        },
        at,
      );
    }
    if (!isOver) return;
    const isError = state.status === 'error';
    const files = asList(state.attachments).map(keep);
    const output = (isError ? asText(state.error) : asText(state.output)) ?? '';
    const result = { output, isError, parts: files.length > 0 ? files : undefined };
    const timestamp = isoTime(timeField(state, 'end') ?? partTime(part, message.created));
    this.#writer.upsert(resultBlock(message.conversationId, toolUseId, result, timestamp), at);
  }

  /** Writes a task part, which the server sends many times and at last with the whole result, as one subagent. */
  #addTask(message: OpenCodeMessage, id: string, part: Json, at: string): void {
    const state = asObject(part.state) ?? {};
    const input = asObject(state.input);
    const toolUseId = this.#callId(message, id, part);
    const agentId = asName(asObject(state.metadata)?.sessionId);
    const created = isoTime(partTime(part, message.created));
    message.blockIds.set(id, `subagent:${toolUseId}`);
    this.#writer.spawn(
      message.conversationId,
      { toolUseId, agentId, ...spawnFields(input) },
      this.#writer.isSubagent(toolUseId) ? at : created,
      this.#info(message, at),
    );
    if (agentId !== undefined) this.#onChild(agentId, toolUseId);
    const isError = state.status === 'error';
    if ((state.status !== 'completed' && !isError) || !this.#writer.isRunning(toolUseId)) return;
    const start = timeField(state, 'start');
    const end = timeField(state, 'end');
    const output = isError ? asText(state.error) : asText(state.output);
    this.#writer.complete(
      message.conversationId,
      toolUseId,
      {
        status: isError ? 'error' : 'completed',
        agentId,
        output: output === undefined ? undefined : taskResult(output),
        durationMs: start === undefined || end === undefined || end < start ? undefined : end - start,
      },
      at,
    );
  }

  #addNotice(message: OpenCodeMessage, id: string, part: Json, at: string, type: string): void {
    const notice = noticeOf(part, type);
    const base = this.#base(message, id, part);
    if (notice) {
      this.#write(message, id, { ...base, ...notice }, at);
      return;
    }
    this.#write(message, id, unknownBlock(base, `part/${type}`, part, this.#writer), at);
  }

  #callId(message: OpenCodeMessage, partId: string, part: Json): string {
    return this.#writer.callId(message.conversationId, asName(part.callID) ?? partId, message.id);
  }

  #info(message: OpenCodeMessage, at: string): BlockMessage | undefined {
    return message.role === 'assistant' ? this.#writer.message(message.conversationId, message, at) : undefined;
  }

  #base(message: OpenCodeMessage, id: string, part: Json, status: BlockStatus = 'complete'): BlockBase {
    const timestamp = isoTime(partTime(part, message.created));
    return blockBase(id, message.conversationId, timestamp, this.#info(message, timestamp), status);
  }

  #write(message: OpenCodeMessage, partId: string, block: ConversationBlock, at: string): void {
    message.blockIds.set(partId, block.id);
    this.#writer.upsert(block, at);
  }
}

function noticeOf(part: Json, type: string): Notice | undefined {
  switch (type) {
    case 'compaction':
      return { type: 'compaction', content: '' };
    case 'retry': {
      const error = asObject(part.error);
      const content = asText(asObject(error?.data)?.message) ?? asText(error?.name) ?? '';
      return { type: 'system', subtype: 'retry', content };
    }
    case 'subtask':
      return { type: 'system', subtype: 'subtask', content: asText(part.prompt) ?? asText(part.description) ?? '' };
    case 'file':
      return { type: 'system', subtype: 'file', content: asText(part.filename) ?? '', data: attachmentOf(part) };
    default:
      return undefined;
  }
}

function attachmentOf(part: Json): Attachment {
  const mediaType = asName(part.mime) ?? 'application/octet-stream';
  return attachment({ mediaType, data: asText(part.url), filename: asName(part.filename) });
}

/** A child's result without the tags that OpenCode puts around it. */
function taskResult(output: string): string {
  const frame = /^<task [^>]*>\n<task_result>\n([\s\S]*)\n<\/task_result>\n<\/task>$/.exec(output);
  return frame?.[1] ?? output;
}
