/** What a screen shows, as the AI SDK's UI messages. */
import type {
  Attachment,
  ConversationBlock,
  SessionConversationState,
  ToolResultBlock,
  ToolUseBlock,
} from '../../conversation/blocks.ts';
import type { LossReport } from '../../formats/losses.ts';
import { mediaUrl } from '../../formats/media.ts';
import { NO_RESULT } from '../../formats/placeholders.ts';
import { BLOCK_PART, type UIMessage, type UIMessagePart } from '../ai-sdk-ui.ts';

type MutableMessage = { -readonly [K in keyof UIMessage]: UIMessage[K] } & { parts: UIMessagePart[] };

/**
 * The main thread as UI messages: one per user message, and one for all responses to it. Blocks that UI messages have
 * no part for travel in data parts, which the AI SDK keeps and sends to no model.
 */
export function uiMessages(state: SessionConversationState, losses: LossReport): UIMessage[] {
  const results = new Map<string, ToolResultBlock>();
  const called = new Set<string>();
  for (const block of state.blocks) {
    if (block.type === 'tool_result') results.set(block.toolUseId, block);
    if (block.type === 'tool_use') called.add(block.toolUseId);
  }
  for (const subagent of state.subagents) {
    if (subagent.blocks.length > 0) {
      losses.add('what a subagent did', 'UI messages hold one conversation; export it by itself', subagent.toolUseId);
    }
  }
  const messages: MutableMessage[] = [];
  let responseId: string | undefined;
  const reply = (block: ConversationBlock): MutableMessage => {
    let last = messages.at(-1);
    if (last?.role !== 'assistant') {
      last = { id: block.message?.id ?? block.id, role: 'assistant', parts: [], metadata: metadataOf(block) };
      messages.push(last);
      responseId = undefined;
    }
    // Every response of the model is a step.
    if (block.message && block.message.id !== responseId) {
      last.parts.push({ type: 'step-start' });
      responseId = block.message.id;
    }
    return last;
  };
  for (const block of state.blocks) {
    switch (block.type) {
      case 'user_message': {
        const parts = [...textPart(block.content), ...fileParts(block.attachments, block.id, losses)];
        messages.push({ id: block.id, role: 'user', parts: orEmptyText(parts), metadata: metadataOf(block) });
        break;
      }
      case 'assistant_text':
      case 'thinking': {
        const state = block.status === 'pending' ? 'streaming' : 'done';
        const type = block.type === 'thinking' ? 'reasoning' : 'text';
        if (block.status === 'error') reply(block).parts.push(dataPart(block));
        else {
          if (block.content !== '' || !block.attachments?.length)
            reply(block).parts.push({ type, text: block.content, state });
          reply(block).parts.push(...fileParts(block.attachments, block.id, losses));
        }
        break;
      }
      case 'tool_use':
        reply(block).parts.push(toolPart(block, results.get(block.toolUseId)));
        if (block.status === 'error' && !results.has(block.toolUseId))
          losses.add('missing result', `"${NO_RESULT}" stands in its place`, block.id);
        if (results.get(block.toolUseId)?.parts)
          losses.add('parts of a result', 'a tool part holds its text', block.id);
        break;
      case 'tool_result':
        if (!called.has(block.toolUseId)) reply(block).parts.push(dataPart(block));
        break;
      case 'system':
        if (block.subtype !== 'instructions') reply(block).parts.push(dataPart(block));
        else
          messages.push({
            id: block.id,
            role: 'system',
            parts: orEmptyText(textPart(block.content)),
            metadata: metadataOf(block),
          });
        break;
      default:
        reply(block).parts.push(dataPart(block));
    }
  }
  return messages;
}

function toolPart(use: ToolUseBlock, result: ToolResultBlock | undefined): UIMessagePart {
  const base = { type: 'dynamic-tool', toolName: use.toolName, toolCallId: use.toolUseId } as const;
  const input = use.input ?? use.inputText ?? {};
  if (result?.isError) return { ...base, state: 'output-error', input, errorText: result.output };
  if (result) return { ...base, state: 'output-available', input, output: result.output };
  if (use.status === 'error') return { ...base, state: 'output-error', input, errorText: NO_RESULT };
  if (use.input === undefined && use.inputText !== undefined) {
    return { ...base, state: 'input-streaming', rawInput: use.inputText };
  }
  return { ...base, state: 'input-available', input };
}

function dataPart(block: ConversationBlock): UIMessagePart {
  return { type: BLOCK_PART, id: block.id, data: block };
}

function textPart(text: string): UIMessagePart[] {
  return text === '' ? [] : [{ type: 'text', text, state: 'done' }];
}

/** A message without parts is none to the AI SDK. */
function orEmptyText(parts: UIMessagePart[]): UIMessagePart[] {
  return parts.length > 0 ? parts : [{ type: 'text', text: '', state: 'done' }];
}

function fileParts(attachments: readonly Attachment[] = [], id: string, losses: LossReport): UIMessagePart[] {
  return attachments.flatMap(({ mediaType, data, filename }): UIMessagePart[] => {
    const url = data === undefined ? undefined : mediaUrl({ mediaType, data });
    if (url === undefined) {
      losses.add('attachment', 'its content is not at hand', id);
      return [];
    }
    return [{ type: 'file', mediaType, url, ...(filename !== undefined && { filename }) }];
  });
}

function metadataOf(block: ConversationBlock): Readonly<Record<string, unknown>> {
  const { timestamp, message } = block;
  return {
    ...(timestamp !== '' && { createdAt: timestamp }),
    ...(message?.model !== undefined && { model: message.model }),
    ...(message?.usage && { usage: message.usage }),
  };
}
