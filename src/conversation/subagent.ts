/** A subagent, and the block that shows it in its parent's conversation. Both carry the same fields (D38). */

import type { BlockVector } from './block-vector.ts';
import type { BlockStatus, ConversationBlock, SubagentBlock, SubagentState, SubagentStatus } from './blocks.ts';
import { present, sameValue } from './same-value.ts';

/** A subagent whose blocks this package made, so that they can be updated. */
export interface Subagent extends SubagentState {
  readonly blocks: BlockVector;
}

/** Whether a subagent has not ended. */
export function isOpen(subagent: SubagentState): boolean {
  return subagent.status === 'pending' || subagent.status === 'running';
}

/** The id of the block that shows a subagent (D38). */
export function subagentBlockId(toolUseId: string): string {
  return `subagent:${toolUseId}`;
}

/** A subagent with its fields in a fixed order and none undefined, so that equal subagents are equal as JSON text. */
export function makeSubagent(
  fields: {
    readonly [K in keyof Subagent]: Subagent[K] | undefined extends Subagent[K] ? Subagent[K] | undefined : Subagent[K];
  },
): Subagent {
  const { toolUseId, agentId, parentConversationId, status, name, description, prompt, output, durationMs, blocks } =
    fields;
  const ended = { name, description, prompt, output, durationMs, blocks };
  return present({ toolUseId, agentId, parentConversationId, status, ...ended });
}

/** The subagent with other fields; the same object when it has them already. */
export function changeSubagent(subagent: Subagent, fields: Partial<Subagent>): Subagent {
  const keys = Object.keys(fields) as (keyof Subagent)[];
  return keys.every((key) => Object.is(subagent[key], fields[key]))
    ? subagent
    : makeSubagent({ ...subagent, ...fields });
}

/** The first of two texts that is not empty. */
export function firstNonEmpty(a: string | undefined, b: string | undefined): string | undefined {
  return a === undefined || a === '' ? (b ?? a) : a;
}

/** The block that shows a subagent. A known block keeps its position, its time and the fields of its spawn (D39, D43). */
export function showSubagent(
  subagent: Subagent,
  known: ConversationBlock | undefined,
  timestamp: string,
): SubagentBlock {
  const before = known?.type === 'subagent' ? known : undefined;
  const agentId = subagent.agentId ?? before?.agentId;
  const name = firstNonEmpty(before?.name, subagent.name);
  const description = firstNonEmpty(before?.description, subagent.description);
  const input = firstNonEmpty(before?.input, subagent.prompt);
  const output = subagent.output ?? before?.output;
  const durationMs = subagent.durationMs ?? before?.durationMs;
  const block = makeSubagentBlock({
    toolUseId: subagent.toolUseId,
    conversationId: subagent.parentConversationId,
    timestamp: before?.timestamp ?? timestamp,
    status: isOpen(subagent) ? (before?.status ?? 'pending') : statusOfBlock(subagent.status),
    message: before?.message,
    ...{ agentId, name, description, input, output, durationMs },
  });
  return before && sameValue(before, block) ? before : block;
}

function statusOfBlock(status: SubagentStatus): BlockStatus {
  return status === 'success' ? 'complete' : status === 'error' ? 'error' : 'pending';
}

/** A subagent's block with its fields in a fixed order and none undefined. */
export function makeSubagentBlock(
  fields: { readonly [K in keyof SubagentBlock]?: SubagentBlock[K] | undefined } & Pick<
    SubagentBlock,
    'toolUseId' | 'conversationId' | 'timestamp' | 'status'
  >,
): SubagentBlock {
  const { conversationId, timestamp, status, message, toolUseId } = fields;
  const { agentId, name, description, input, output, durationMs } = fields;
  const base = {
    id: subagentBlockId(toolUseId),
    type: 'subagent',
    conversationId,
    timestamp,
    status,
    message,
  } as const;
  return present({ ...base, toolUseId, agentId, name, description, input, output, durationMs });
}
