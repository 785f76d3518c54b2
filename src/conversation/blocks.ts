/**
 * What a screen shows: a conversation is a list of blocks. A block is `pending` while it is being said or done, then
 * `complete` or `error` for good (D37, D43).
 */
import type { CallProgress } from '../core/progress.ts';
import type { Usage } from '../core/usage.ts';

/** The states of a block; `running` and `success` belong to a subagent's thread (D37). */
export type BlockStatus = 'pending' | 'complete' | 'error';

/** The model answer a block is part of. Usage is counted once per id, however many blocks repeat it. */
export interface BlockMessage {
  readonly id: string;
  readonly model?: string;
  readonly usage?: Usage;
}

/** What all blocks have. Blocks are keyed by conversation and id together (D44). */
export interface BlockBase {
  readonly id: string;
  readonly conversationId: string;
  /** When its source first said it; kept when the block is replaced (D43). */
  readonly timestamp: string;
  readonly status: BlockStatus;
  readonly message?: BlockMessage;
}

/** A file or an image that came with a text. */
export interface Attachment {
  readonly mediaType: string;
  /** base64, a URL, or `sha256:…` for content that a store keeps apart. */
  readonly data?: string;
  readonly filename?: string;
}

/** Something said. Deltas append to `content` of the assistant's two kinds while they are pending. */
export interface TextBlock extends BlockBase {
  readonly type: 'user_message' | 'assistant_text' | 'thinking';
  readonly content: string;
  readonly attachments?: readonly Attachment[];
}

/** A tool call, pending until its result. Deltas append to `inputText`. */
export interface ToolUseBlock extends BlockBase {
  readonly type: 'tool_use';
  readonly toolUseId: string;
  readonly toolName: string;
  readonly input?: unknown;
  /** The input as the model wrote it, while it is being written or when it is not JSON. */
  readonly inputText?: string;
  /** What the running tool reports; gone when the call has its result (D62). */
  readonly progress?: CallProgress;
}

/** What came of a tool call; it closes the call's block. */
export interface ToolResultBlock extends BlockBase {
  readonly type: 'tool_result';
  readonly toolUseId: string;
  readonly output: string;
  readonly isError: boolean;
  /** The result's parts when they are more than text. */
  readonly parts?: readonly unknown[];
}

/** A call that started a conversation of its own; the call and its answer live here, not beside it (D38). */
export interface SubagentBlock extends BlockBase {
  readonly type: 'subagent';
  readonly toolUseId: string;
  readonly agentId?: string;
  readonly name?: string;
  readonly description?: string;
  readonly input?: string;
  readonly output?: string;
  readonly durationMs?: number;
}

/** Something that happened around the conversation. */
export interface NoticeBlock extends BlockBase {
  readonly type: 'system' | 'error' | 'skill' | 'compaction';
  readonly subtype?: string;
  readonly content: string;
  readonly data?: unknown;
  /** How the conversation is run, for its operator: instructions, what was sent, captured states. Not for the person who chats. */
  readonly machinery?: true;
}

/** What its source said and we do not know, kept as it came (D49). */
export interface UnknownBlock extends BlockBase {
  readonly type: 'unknown';
  readonly sourceType: string;
  readonly data: unknown;
}

/** One block of a conversation, one variant per shape. */
export type ConversationBlock = TextBlock | ToolUseBlock | ToolResultBlock | SubagentBlock | NoticeBlock | UnknownBlock;

/** The kinds of blocks. */
export type BlockType = ConversationBlock['type'];

/**
 * Array-like and persistent.
 *
 * Contract: a list never changes; an update makes a new one that shares all but a small chunk, so its cost does not grow with
 * the length. Compare lists through `toJSON`.
 */
export interface BlockList extends Iterable<ConversationBlock> {
  readonly length: number;
  at(index: number): ConversationBlock | undefined;
  map<T>(f: (block: ConversationBlock, index: number) => T): T[];
  filter(f: (block: ConversationBlock) => boolean): ConversationBlock[];
  find(f: (block: ConversationBlock) => boolean): ConversationBlock | undefined;
  toJSON(): ConversationBlock[];
}
