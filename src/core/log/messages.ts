/**
 * The only message type (D1): the content of a person, a model or a tool, in no provider's format.
 * An assistant message is recorded with its calls before any of them runs (D7); each result is a message of its own.
 */

interface MessageBase {
  readonly id: string;
  readonly evaluationId: string;
  /** `'main'`, or the id of a child conversation. */
  readonly conversationId: string;
  /** Position within its evaluation, from 0. */
  readonly sequence: number;
  /** 0 for system and user messages; an assistant message and its results share a turn ≥ 1. */
  readonly turn: number;
  readonly promptNs: string;
  readonly promptKey: string;
  readonly createdAt: string;
  readonly providerMessageId?: string;
  /** The provider's metadata of the response; recorded with `recordProviderMetadata`, never sent. */
  readonly providerMetadata?: Readonly<Record<string, unknown>>;
  /** Created by a history manager: neither a person, a model nor a tool wrote it. */
  readonly synthetic?: true;
}

/** A provider's metadata of a part or a call: sent back unchanged to that provider, and to no other. */
export interface ProviderData {
  readonly provider: string;
  /** Set when it may only be sent back to the model that created it, as with signed reasoning. */
  readonly model?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Text in a message. */
export type TextPart = {
  readonly type: 'text';
  readonly text: string;
  /** Added by the loop to a tool's result: neither the tool nor the model wrote it. */
  readonly synthetic?: true;
  readonly providerData?: ProviderData;
};
/** An image or a file in a message. */
export type MediaPart = {
  readonly type: 'image' | 'file';
  readonly mediaType: string;
  /** base64, a URL, or `sha256:…` for external content. */
  readonly data: string;
  readonly filename?: string;
  /** It was a text before it was stored as external content, and becomes one again when it is read. */
  readonly standsFor?: 'text';
  readonly providerData?: ProviderData;
};
/** What a model wrote before its response, with the proof that its provider attached. */
export type ReasoningPart = {
  readonly type: 'reasoning';
  readonly text: string;
  /** The provider's opaque proof, sent back unchanged. */
  readonly signature?: string;
  readonly redacted?: string;
  readonly provider?: string;
  readonly providerData?: ProviderData;
};
/** One part of a message: text, media or reasoning. */
export type ContentPart = TextPart | MediaPart | ReasoningPart;

/** A call that a model made, with its arguments as JSON text. */
export interface ToolCall {
  readonly callId: string;
  readonly name: string;
  /** JSON as the model wrote it, valid or not. */
  readonly arguments: string;
  /** The session's `redact` changed the arguments: the call runs with the exact ones, which are stored outside the log. */
  readonly argumentsRedacted?: true;
  /** The number of content parts before it; absent: all. */
  readonly after?: number;
  /** The provider ran it itself: it is recorded and sent back, never run here. */
  readonly providerExecuted?: { readonly result?: unknown; readonly isError?: true };
  readonly providerData?: ProviderData;
}

/** The instructions of an evaluation, with their parameters bound. */
export type SystemMessage = MessageBase & { readonly role: 'system'; readonly content: readonly TextPart[] };
/** What a user wrote. */
export type UserMessage = MessageBase & { readonly role: 'user'; readonly content: readonly (TextPart | MediaPart)[] };
/** A response of a model, with its tool calls. */
export type AssistantMessage = MessageBase & {
  readonly role: 'assistant';
  readonly content: readonly (TextPart | MediaPart | ReasoningPart)[];
  readonly toolCalls?: readonly ToolCall[];
};
/** The result of a tool call. */
export type ToolMessage = MessageBase & {
  readonly role: 'tool';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly content: readonly (TextPart | MediaPart)[];
  readonly isError: boolean;
};

/** A message of a conversation, one variant per role. */
export type ConversationMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** Identifies a call: call ids repeat between turns, so all three fields are needed. */
export interface CallRef {
  readonly evaluationId: string;
  readonly turn: number;
  readonly callId: string;
  /** How many times the call had been started: a settlement is about that run and no later one. Absent: the newest. */
  readonly attempt?: number;
}

/** The text of a message, without media and reasoning. */
export function textOf(message: Pick<ConversationMessage, 'content'>): string {
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The calls of a message that the loop runs: none unless it is an assistant message. */
export function callsOf(message: ConversationMessage): readonly ToolCall[] {
  const calls = message.role === 'assistant' ? (message.toolCalls ?? NO_CALLS) : NO_CALLS;
  return calls.every(isOurs) ? calls : calls.filter(isOurs);
}

const NO_CALLS: readonly ToolCall[] = [];

function isOurs({ providerExecuted }: ToolCall): boolean {
  return providerExecuted === undefined;
}

/** One string that identifies a call: the key of every table of calls. */
export function callKey(call: CallRef): string {
  return `${call.evaluationId}/${call.turn}/${call.callId}`;
}
