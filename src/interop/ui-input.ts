import { HoldfastError } from '../core/errors.ts';
import type { InputContent } from '../core/log/events.ts';
import { asList, asName, asObject, asText, type Json } from '../transcripts/json-access.ts';

/** What a client of the AI SDK posts: a message of the user, or decisions about calls that wait. */
export type UiPost =
  | { readonly kind: 'input'; readonly id: string; readonly content: InputContent }
  | { readonly kind: 'decisions'; readonly messageId: string; readonly decisions: readonly UiDecision[] };

/** A person's decision about a call, as `addToolApprovalResponse` makes it. */
export interface UiDecision {
  readonly approvalId: string;
  readonly isApproved: boolean;
  readonly reason?: string;
}

/** Reads the body of a post: `message`, or the last of `messages`. Throws `INVALID_ARGUMENT` for what a session cannot take. */
export function readUiPost(body: Readonly<Record<string, unknown>>): UiPost {
  if (body.trigger === 'regenerate-message') {
    throw invalid('a recorded response is not made again; send another message, or fork the session before it');
  }
  const message = asObject(body.message ?? asList(body.messages).at(-1));
  const id = asName(message?.id);
  if (!message || id === undefined)
    throw invalid('the body needs a UI message with an id: { message }, or { messages }');
  const parts = asList(message.parts)
    .map(asObject)
    .filter((part) => part !== undefined);
  if (message.role === 'user') return { kind: 'input', id, content: parts.map(inputPart) };
  const decisions = parts.flatMap(decisionOf);
  if (message.role !== 'assistant' || decisions.length === 0) {
    throw invalid('the last message must be one of the user, or of the assistant with responses to approval requests');
  }
  return { kind: 'decisions', messageId: id, decisions };
}

function inputPart(part: Json): InputContent[number] {
  const type = asText(part.type);
  if (type === 'text') return { type, text: asText(part.text) ?? '' };
  if (type === 'file') {
    const mediaType = asText(part.mediaType) ?? 'application/octet-stream';
    const filename = asText(part.filename);
    return {
      type: mediaType.startsWith('image/') ? 'image' : 'file',
      mediaType,
      data: asText(part.url) ?? '',
      ...(filename !== undefined && { filename }),
    };
  }
  throw invalid(`a message of the user has text and files, not parts of type ${String(type).slice(0, 50)}`);
}

function decisionOf(part: Json): readonly UiDecision[] {
  const approval = asObject(part.approval);
  const approvalId = asName(approval?.id);
  if (part.state !== 'approval-responded' || approvalId === undefined || typeof approval?.approved !== 'boolean')
    return [];
  const reason = asText(approval.reason);
  return [{ approvalId, isApproved: approval.approved, ...(reason !== undefined && { reason }) }];
}

function invalid(why: string): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', why);
}
