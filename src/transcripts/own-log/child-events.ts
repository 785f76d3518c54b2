/** The events that show a child conversation as a subagent of its parent (D52). */
import type { ConversationEvent } from '../../conversation/events.ts';
import type { ShownEvaluation } from './shown-evaluations.ts';

/** Shows a child, or adds the prompt that it got. */
export function childSpawned(
  conversationId: string,
  parentConversationId: string,
  timestamp: string,
  fields: { readonly subagentType: string; readonly description: string } | { readonly prompt: string },
): ConversationEvent {
  return {
    type: 'subagent:spawned',
    conversationId: parentConversationId,
    timestamp,
    toolUseId: conversationId,
    ...fields,
  };
}

/** Ends the child of an evaluation; no event when the evaluation is not a child's. */
export function childCompleted(
  evaluation: ShownEvaluation,
  timestamp: string,
  status: 'completed' | 'failed',
  output?: string,
): readonly ConversationEvent[] {
  const { parentConversationId, conversationId: toolUseId, startedAt, inferred } = evaluation;
  if (parentConversationId === undefined) return [];
  const durationMs = Date.parse(timestamp) - Date.parse(startedAt);
  return [
    {
      type: 'subagent:completed',
      conversationId: parentConversationId,
      timestamp,
      toolUseId,
      status,
      ...(output !== undefined && { output }),
      ...(durationMs >= 0 && !inferred && { durationMs }),
    },
  ];
}
