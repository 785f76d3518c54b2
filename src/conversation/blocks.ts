/**
 * What a screen shows: a conversation is a list of blocks. A block is `pending` until it ends as `complete` or `error`; those two
 * are final (D37, D43).
 */
import type { CallProgress } from '../core/log/progress.ts';
import type { Usage } from '../core/log/usage.ts';

/** The states of a block; `running` and `success` are states of a subagent (D37). */
export type BlockStatus = 'pending' | 'complete' | 'error';

/** The response that a block is part of. Usage is counted once per id, however many blocks repeat it. */
export interface BlockMessage {
  readonly id: string;
  readonly model?: string;
  readonly usage?: Usage;
}

/** The fields of every block. Its key is conversation and id together (D44). */
export interface BlockBase {
  readonly id: string;
  readonly conversationId: string;
  /** The time of its first event; kept when the block is replaced (D43). */
  readonly timestamp: string;
  readonly status: BlockStatus;
  readonly message?: BlockMessage;
}

/** A file or an image that belongs to a text. */
export interface Attachment {
  readonly mediaType: string;
  /** base64, a URL, or `sha256:…` for external content (D58). */
  readonly data?: string;
  readonly filename?: string;
}

/** A text of the user or the assistant. Deltas append to `content` of the assistant's two kinds while they are pending. */
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
  /** What the running tool reports; removed when the call has its result (D62). */
  readonly progress?: CallProgress;
}

/** The result of a tool call; it closes the call's block. */
export interface ToolResultBlock extends BlockBase {
  readonly type: 'tool_result';
  readonly toolUseId: string;
  readonly output: string;
  readonly isError: boolean;
  /** The result's parts when they are more than text. */
  readonly parts?: readonly unknown[];
}

/** A call that started a subagent. The block holds call and result; there are no other blocks for them (D38). */
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

/** An event around the conversation, such as an error or a compaction. */
export interface NoticeBlock extends BlockBase {
  readonly type: 'system' | 'error' | 'skill' | 'compaction';
  readonly subtype?: string;
  readonly content: string;
  readonly data?: unknown;
  /** For operators, not for the person who chats: instructions, requests, captured states. */
  readonly machinery?: true;
}

/** Content of an unknown type, kept unchanged (D49). */
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
 * Array-like and persistent. Its methods are those of an array; there is no `blocks[0]`, read one block by `at`.
 *
 * Contract: a list never changes; an update returns a new one at a cost that does not grow with the length. `at` costs the same at any
 * length; `toArray` copies. Compare lists through `toJSON`.
 */
export interface BlockList extends Iterable<ConversationBlock> {
  readonly length: number;
  at(index: number): ConversationBlock | undefined;
  slice(start?: number, end?: number): ConversationBlock[];
  map<T>(f: (block: ConversationBlock, index: number) => T): T[];
  filter(f: (block: ConversationBlock) => boolean): ConversationBlock[];
  find(f: (block: ConversationBlock) => boolean): ConversationBlock | undefined;
  findLast(f: (block: ConversationBlock) => boolean): ConversationBlock | undefined;
  some(f: (block: ConversationBlock) => boolean): boolean;
  every(f: (block: ConversationBlock) => boolean): boolean;
  forEach(f: (block: ConversationBlock, index: number) => void): void;
  /** An array of the blocks, which the caller may change. */
  toArray(): ConversationBlock[];
  /** The same, for `JSON.stringify`. */
  toJSON(): ConversationBlock[];
}

/** `pending` and `running` are open, the other two final. */
export type SubagentStatus = 'pending' | 'running' | 'success' | 'error';

/** A subagent with its blocks. Subagents form a tree by `parentConversationId` (D40). */
export interface SubagentState {
  /** The call that started it; the agent's id until the two are linked (D41). It is also the subagent's conversation id. */
  readonly toolUseId: string;
  readonly agentId?: string;
  readonly parentConversationId: string;
  readonly status: SubagentStatus;
  readonly name?: string;
  readonly description?: string;
  readonly prompt?: string;
  readonly output?: string;
  readonly durationMs?: number;
  readonly blocks: BlockList;
}

/**
 * A conversation as a screen shows it.
 *
 * Contract: never changes; the parts that an event did not change are the same objects before and after. Compare states through JSON.
 */
export interface SessionConversationState {
  readonly blocks: BlockList;
  readonly subagents: readonly SubagentState[];
}
