import type { CallState, Evaluation } from '../../core/fold/evaluations.ts';
import type { MessageRecorded, Without } from '../../core/log/events.ts';
import type { ToolMessage } from '../../core/log/messages.ts';

/** What a call is closed with. */
type Closing = Pick<ToolMessage, 'content' | 'isError'>;

/**
 * The results that close calls of one evaluation: they never run, and every call has its result (I4). A text closes all of them as
 * failed.
 */
export function closingResults(
  evaluation: Evaluation,
  calls: readonly CallState[],
  { closing, at }: { readonly closing: string | ((call: CallState) => Closing); readonly at: string },
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
      ...(typeof closing === 'string' ? failed(closing) : closing(call)),
    };
    return { type: 'message/recorded', message };
  });
}

/** A failure with this text. */
export function failed(text: string): Closing {
  return { content: [{ type: 'text', text }], isError: true };
}
