/**
 * A conversation as rows of one flat list, so that any length of it can be scrolled: a call and its result are one row, and the blocks of an open
 * subagent follow its row, indented. Pure, and unchanged rows are the same objects.
 */
import type {
  BlockList,
  ConversationBlock,
  SessionConversationState,
  SubagentBlock,
  SubagentState,
  ToolResultBlock,
  ToolUseBlock,
} from 'holdfast/conversation';
import { describeNotice, findSubagent, pendingBlocks } from 'holdfast/conversation';
import type { NoticeBlock } from '../../../../src/conversation/blocks.ts';

/** One row. `depth` counts the subagents around it. */
export interface Row {
  /** Unique in the session: conversation and block. */
  readonly key: string;
  readonly depth: number;
  readonly block: ConversationBlock;
  /** Of a call: its result, if it has one. */
  readonly result?: ToolResultBlock;
  /** Of a subagent's row: its state, and the call that started it, if that has no row of its own. */
  readonly subagent?: SubagentState;
  readonly call?: ToolUseBlock;
  /** Of a call that waits for a person: what it waits for. */
  readonly waitsFor?: 'approval' | 'outcome';
  /** Of a compaction: how many rows are before it, and whether they are hidden. */
  readonly folds?: { readonly count: number; readonly isFolded: boolean };
}

/** What a person opened and closed. */
export interface RowChoices {
  /** `depth` is that of the subagent's row. */
  isSubagentOpen(toolUseId: string, depth: number): boolean;
  isFolded(compactionKey: string): boolean;
}

export function keyOf({ conversationId, id }: Pick<ConversationBlock, 'conversationId' | 'id'>): string {
  return conversationId === 'main' ? id : `${conversationId}~${id}`;
}

/** The rows of a conversation, main unless another one is named, with those of its open subagents. */
export function rowsOf(
  state: SessionConversationState,
  choices: RowChoices,
  conversation: BlockList = state.blocks,
): readonly Row[] {
  const rows: Row[] = [];
  const open = new Set<string>();
  const waiting = waitingCalls(state);
  const add = (blocks: BlockList, depth: number): void => {
    const start = rows.length;
    for (const row of ownRows(blocks)) {
      if (row.block.type === 'subagent') addSubagent(row, row.block, depth);
      else if (row.block.type === 'compaction') addCompaction(row, start);
      else rows.push(waitingRow(atDepth(row, depth), waiting));
    }
  };
  const addSubagent = (row: Row, block: SubagentBlock, depth: number): void => {
    const subagent = findSubagent(state, block.toolUseId);
    rows.push(subagent ? { ...row, depth, subagent } : atDepth(row, depth));
    if (!subagent || open.has(subagent.toolUseId) || !choices.isSubagentOpen(subagent.toolUseId, depth)) return;
    open.add(subagent.toolUseId); // one that is its own ancestor is shown once
    add(subagent.blocks, depth + 1);
    open.delete(subagent.toolUseId);
  };
  const addCompaction = (row: Row, start: number): void => {
    const isFolded = choices.isFolded(row.key);
    const folds = { count: rows.length - start, isFolded };
    if (isFolded) rows.length = start;
    rows.push({ ...row, folds });
  };
  add(conversation, 0);
  return rows;
}

const KNOWN = new WeakMap<BlockList, readonly Row[]>();

/** The rows of one list of blocks, at depth 0. */
function ownRows(blocks: BlockList): readonly Row[] {
  const known = KNOWN.get(blocks);
  if (known) return known;
  const calls = new Map<string, ToolUseBlock>();
  const results = new Map<string, ToolResultBlock>();
  const children = new Map<string, SubagentBlock[]>();
  for (const block of blocks) {
    if (block.type === 'tool_use') calls.set(block.toolUseId, block);
    else if (block.type === 'tool_result') results.set(block.toolUseId, block);
    else if (block.type === 'subagent') {
      const call = callOf(block);
      children.set(call, [...(children.get(call) ?? []), block]);
    }
  }
  const rows: Row[] = [];
  for (const block of blocks) {
    if (isNoise(block)) continue;
    if (block.type === 'tool_result' && calls.has(block.toolUseId)) continue;
    if (block.type === 'subagent' && calls.has(callOf(block))) continue; // it follows its call
    const own = block.type === 'tool_use' ? (children.get(block.toolUseId) ?? []) : [];
    const [only] = own;
    if (block.type === 'tool_use' && only && own.length === 1) {
      const result = results.get(block.toolUseId);
      rows.push({ ...rowOf(only, undefined), call: block, ...(result && { result }) });
      continue;
    }
    rows.push(rowOf(block, block.type === 'tool_use' ? results.get(block.toolUseId) : undefined));
    for (const child of own) rows.push(rowOf(child, undefined));
  }
  KNOWN.set(blocks, rows);
  return rows;
}

/** The call that started a child of our own loop: the child's id is the call's, and a part of its own (D52). */
function callOf({ toolUseId }: SubagentBlock): string {
  return toolUseId.slice(0, Math.max(0, toolUseId.lastIndexOf('/')));
}

type Waits = ReadonlyMap<string, 'approval' | 'outcome'>;

/** The blocks of the calls that the pending suspensions name, and what they wait for. */
function waitingCalls(state: SessionConversationState): Waits {
  const waits = new Map<string, 'approval' | 'outcome'>();
  for (const block of pendingBlocks(state)) {
    const { pending, reason } = ((block.type === 'system' && block.data) || {}) as Suspension;
    for (const { evaluationId, turn, callId } of pending ?? []) {
      waits.set(`${evaluationId}/${turn}/${callId}`, reason === 'APPROVAL_REQUIRED' ? 'approval' : 'outcome');
    }
  }
  return waits;
}

function waitingRow(row: Row, waits: Waits): Row {
  const waitsFor = waits.get(row.block.id);
  return waitsFor ? { ...row, waitsFor } : row;
}

interface Suspension {
  readonly reason?: string;
  readonly pending?: readonly CallName[];
}

interface CallName {
  readonly evaluationId: string;
  readonly turn: number;
  readonly callId: string;
}

const ROWS = new WeakMap<ConversationBlock, Row>();

/** The same object for the same block and result. */
function rowOf(block: ConversationBlock, result: ToolResultBlock | undefined): Row {
  const known = ROWS.get(block);
  if (known && known.result === result) return known;
  const row: Row = { key: keyOf(block), depth: 0, block, ...(result && { result }) };
  ROWS.set(block, row);
  return row;
}

function atDepth(row: Row, depth: number): Row {
  return depth === 0 ? row : { ...row, depth };
}

/** Blocks that say nothing: empty thinking, empty text, notices without words. */
function isNoise(block: ConversationBlock): boolean {
  switch (block.type) {
    case 'user_message':
    case 'assistant_text':
    case 'thinking':
      return block.content.trim() === '' && !block.attachments?.length;
    case 'system':
    case 'skill':
      return describeNotice(block).text === '';
    default:
      return false;
  }
}

/** The text of a row, to search in. */
export function textOfRow({ block, result }: Row): string {
  switch (block.type) {
    case 'tool_use':
      return `${block.toolName} ${inputText(block)} ${result?.output ?? ''}`;
    case 'tool_result':
      return block.output;
    case 'subagent':
      return [block.name, block.description, block.input, block.output].filter(Boolean).join(' ');
    case 'unknown':
      return JSON.stringify(block.data);
    default:
      return (block satisfies { readonly content: string } as NoticeBlock).content;
  }
}

function inputText({ input, inputText: text }: ToolUseBlock): string {
  return input === undefined ? (text ?? '') : JSON.stringify(input);
}
