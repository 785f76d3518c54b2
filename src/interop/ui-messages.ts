import type { ConversationBlock, SessionConversationState } from '../conversation/blocks.ts';
import type { CallState } from '../core/fold/evaluations.ts';
import type { InputContent } from '../core/log/events.ts';
import { callKey } from '../core/log/messages.ts';
import type { SessionView } from '../core/views/session-view.ts';
import { LossReport } from '../formats/losses.ts';
import { mediaUrl } from '../formats/media.ts';
import { BLOCK_PART, type UIMessage, type UIMessagePart } from '../transcripts/ai-sdk-ui.ts';
import { uiMessages } from '../transcripts/export/ui-messages.ts';
import { INTERRUPTED } from '../transcripts/own-log/draft-blocks.ts';

/**
 * The UI messages that `useChat` starts with. A response that is being made is left out: the stream brings it. Ids are those of the stream,
 * and of the client's own messages, so that a message is never shown twice.
 */
export function shownUiMessages(session: SessionView, state: SessionConversationState): readonly UIMessage[] {
  const { record } = session.state;
  const evaluationOf = new Map<string, string>();
  const inputOf = new Map<string, string>();
  for (const { id, status, placed } of record.inbox.items) {
    if (status === 'placed' && placed) inputOf.set(`${placed.evaluationId} ${placed.sequence}`, id);
  }
  const inputIds = new Map<string, string>();
  for (const { id, evaluationId, sequence } of record.messages) {
    evaluationOf.set(id, evaluationId);
    const inputId = inputOf.get(`${evaluationId} ${sequence}`);
    if (inputId !== undefined) inputIds.set(id, inputId);
  }
  const waiting = new Map(
    session
      .pending()
      .filter(isWaiting)
      .map((call) => [callKey(call), call]),
  );
  const used = new Set<string>();
  let evaluationId: string | undefined;
  const shown = uiMessages(state, new LossReport()).flatMap((message): readonly UIMessage[] => {
    // A response belongs to the evaluation of the user's message before it.
    evaluationId = evaluationOf.get(message.id) ?? evaluationId;
    if (message.role === 'user') return [{ ...message, id: inputIds.get(message.id) ?? message.id }];
    const isOpen = evaluationId !== undefined && record.evaluations.get(evaluationId)?.status === 'running';
    if (isOpen && message.role === 'assistant') return [];
    // A steer splits the response of one evaluation into several messages.
    const id = evaluationId === undefined || used.has(evaluationId) ? message.id : evaluationId;
    used.add(id);
    return [{ ...message, id, parts: withCutOffText(message.parts.flatMap((part) => shownCall(part, waiting))) }];
  });
  const queued = session.queue().map(
    ({ id, content }): UIMessage => ({
      id,
      role: 'user',
      parts: content.flatMap(inputPart),
      metadata: { queued: true },
    }),
  );
  return [...shown, ...queued];
}

function isWaiting({ status, approvalRequest, approval }: CallState): boolean {
  return status === 'pending' && approvalRequest !== undefined && approval === undefined;
}

/** A call as the stream shows it: one that waits requests its approval, one that was cut off while it was written is not shown. */
function shownCall(part: UIMessagePart, waiting: ReadonlyMap<string, CallState>): readonly UIMessagePart[] {
  const { type, toolCallId } = part;
  if (type !== 'dynamic-tool' || typeof toolCallId !== 'string') return [part];
  if (toolCallId.startsWith(INTERRUPTED)) return [];
  return [waiting.has(toolCallId) ? { ...part, state: 'approval-requested', approval: { id: toolCallId } } : part];
}

/** Shows text that a stop cut off as text, as the stream did, unless the model has begun again after it. */
function withCutOffText(parts: readonly UIMessagePart[]): readonly UIMessagePart[] {
  const lastText = parts.findLastIndex(({ type }) => type === 'text' || type === 'dynamic-tool');
  return parts.map((part, i) => {
    const block = part.type === BLOCK_PART ? (part.data as ConversationBlock) : undefined;
    const isCutOff = i > lastText && block?.status === 'error' && block.type === 'assistant_text';
    return isCutOff ? { type: 'text', text: block.content, state: 'done' } : part;
  });
}

function inputPart(part: InputContent[number]): readonly UIMessagePart[] {
  if (part.type === 'text') return [{ type: 'text', text: part.text }];
  const url = mediaUrl(part);
  return url === undefined ? [] : [{ type: 'file', mediaType: part.mediaType, url }];
}
