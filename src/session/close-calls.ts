import type { CallState, Evaluation } from '../core/evaluations.ts';
import type { MessageRecorded, Without } from '../core/events.ts';
import type { ToolMessage } from '../core/messages.ts';

/** The results that close calls of one evaluation as failed: they never run, and every call has its result (I4). */
export function closingResults(
  evaluation: Evaluation,
  calls: readonly CallState[],
  { text, at }: { readonly text: string | ((call: CallState) => string); readonly at: string },
): readonly Without<MessageRecorded, 'seq' | 'at'>[] {
  return calls.map((call, i) => {
    const sequence = evaluation.nextSequence + i;
    const message: ToolMessage = {
      role: 'tool',
      id: `${evaluation.id}:${sequence}`,
      evaluationId: evaluation.id,
      conversationId: evaluation.conversationId,
      sequence,
      turn: call.turn,
      promptNs: evaluation.promptNs,
      promptKey: evaluation.promptKey,
      createdAt: at,
      toolCallId: call.callId,
      toolName: call.name,
      content: [{ type: 'text', text: typeof text === 'string' ? text : text(call) }],
      isError: true,
    };
    return { type: 'message/recorded', message };
  });
}
