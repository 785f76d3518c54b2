/**
 * A conversation as rows of one flat list, so that any length of it can be scrolled: a call and its result are one row, and the blocks of an open
 * subagent follow its row, indented. Pure, and unchanged rows are the same objects.
 */
import type {
  BlockList,
  ConversationBlock,
  NoticeBlock,
  SessionConversationState,
  SubagentBlock,
  SubagentState,
  ToolResultBlock,
  ToolUseBlock,
} from 'holdfast/conversation';
import { findSubagent } from 'holdfast/conversation';

/** One row. `depth` counts the subagents around it. */
export interface Row {
  /** Unique in the session: conversation and block. */
  readonly key: string;
  readonly depth: number;
  readonly block: ConversationBlock;
  /** Of a call: its result, if it has one. */
  readonly result?: ToolResultBlock;
  /** Of a subagent's row: its state. */
  readonly subagent?: SubagentState;
  /** Of a compaction: how many rows are before it, and whether they are hidden. */
  readonly folds?: { readonly count: number; readonly isFolded: boolean };
}

/** What a person opened and closed. */
export interface RowChoices {
  isSubagentOpen(toolUseId: string): boolean;
  isFolded(compactionKey: string): boolean;
}

export function keyOf({ conversationId, id }: Pick<ConversationBlock, 'conversationId' | 'id'>): string {
  return conversationId === 'main' ? id : `${conversationId}~${id}`;
}

/** The rows of a conversation with those of its open subagents. */
export function rowsOf(state: SessionConversationState, choices: RowChoices): readonly Row[] {
  const rows: Row[] = [];
  const open = new Set<string>();
  const add = (blocks: BlockList, depth: number): void => {
    const start = rows.length;
    for (const row of ownRows(blocks)) {
      if (row.block.type === 'subagent') addSubagent(row, row.block, depth);
      else if (row.block.type === 'compaction') addCompaction(row, start);
      else rows.push(atDepth(row, depth));
    }
  };
  const addSubagent = (row: Row, block: SubagentBlock, depth: number): void => {
    const subagent = findSubagent(state, block.toolUseId);
    rows.push(subagent ? { ...row, depth, subagent } : atDepth(row, depth));
    if (!subagent || open.has(subagent.toolUseId) || !choices.isSubagentOpen(subagent.toolUseId)) return;
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
  add(state.blocks, 0);
  return rows;
}

const KNOWN = new WeakMap<BlockList, readonly Row[]>();

/** The rows of one list of blocks, at depth 0. */
function ownRows(blocks: BlockList): readonly Row[] {
  const known = KNOWN.get(blocks);
  if (known) return known;
  const calls = new Set<string>();
  const results = new Map<string, ToolResultBlock>();
  for (const block of blocks) {
    if (block.type === 'tool_use') calls.add(block.toolUseId);
    else if (block.type === 'tool_result') results.set(block.toolUseId, block);
  }
  const rows: Row[] = [];
  for (const block of blocks) {
    if (isNoise(block) || (block.type === 'tool_result' && calls.has(block.toolUseId))) continue;
    const result = block.type === 'tool_use' ? results.get(block.toolUseId) : undefined;
    rows.push(rowOf(block, result));
  }
  KNOWN.set(blocks, rows);
  return rows;
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
    case 'assistant_text':
    case 'thinking':
      return block.content.trim() === '' && !block.attachments?.length;
    case 'system':
    case 'skill':
      return block.content.trim() === '';
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
