/** A subagent's thread and the block that shows it in its parent's thread: one tells the same as the other (D38). */
import type { BlockStatus, ConversationBlock, SubagentBlock } from './blocks.ts';
import type { Thread } from './conversation-state.ts';
import { sameValue } from './same-value.ts';
import type { SubagentStatus } from './state.ts';
import { isOpen } from './thread-index.ts';

/** The id of the block that shows a subagent (D38). */
export function subagentBlockId(toolUseId: string): string {
  return `subagent:${toolUseId}`;
}

/** A thread with every field in its fixed order and none undefined, so that equal threads are equal as JSON text. */
export function makeThread(
  fields: {
    readonly [K in keyof Thread]: Thread[K] | undefined extends Thread[K] ? Thread[K] | undefined : Thread[K];
  },
): Thread {
  const { toolUseId, agentId, parentConversationId, status, name, description, prompt, output, durationMs, blocks } =
    fields;
  return {
    toolUseId,
    ...(agentId !== undefined && { agentId }),
    parentConversationId,
    status,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(prompt !== undefined && { prompt }),
    ...(output !== undefined && { output }),
    ...(durationMs !== undefined && { durationMs }),
    blocks,
  };
}

/** The thread with other fields; the same one when they are what it has. */
export function changeThread(thread: Thread, fields: Partial<Thread>): Thread {
  const keys = Object.keys(fields) as (keyof Thread)[];
  return keys.every((key) => Object.is(thread[key], fields[key])) ? thread : makeThread({ ...thread, ...fields });
}

/** The first of two texts that says something. */
export function firstSaid(a: string | undefined, b: string | undefined): string | undefined {
  return a === undefined || a === '' ? (b ?? a) : a;
}

/** The block that shows a thread: a known one keeps its place, its time and what a spawn once said (D39, D43). */
export function showThread(thread: Thread, known: ConversationBlock | undefined, timestamp: string): SubagentBlock {
  const before = known?.type === 'subagent' ? known : undefined;
  const agentId = thread.agentId ?? before?.agentId;
  const name = firstSaid(before?.name, thread.name);
  const description = firstSaid(before?.description, thread.description);
  const input = firstSaid(before?.input, thread.prompt);
  const output = thread.output ?? before?.output;
  const durationMs = thread.durationMs ?? before?.durationMs;
  const block: SubagentBlock = {
    id: subagentBlockId(thread.toolUseId),
    type: 'subagent',
    conversationId: thread.parentConversationId,
    timestamp: before?.timestamp ?? timestamp,
    status: isOpen(thread) ? (before?.status ?? 'pending') : statusOfBlock(thread.status),
    ...(before?.message && { message: before.message }),
    toolUseId: thread.toolUseId,
    ...(agentId !== undefined && { agentId }),
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...(durationMs !== undefined && { durationMs }),
  };
  return before && sameValue(before, block) ? before : block;
}

function statusOfBlock(status: SubagentStatus): BlockStatus {
  return status === 'success' ? 'complete' : status === 'error' ? 'error' : 'pending';
}
