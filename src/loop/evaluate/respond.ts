import { HoldfastError } from '../../core/errors.ts';
import { isErasedContent } from '../../core/fold/erased.ts';
import type { Evaluation } from '../../core/fold/evaluations.ts';
import { type ConversationMessage, textOf } from '../../core/log/messages.ts';
import type { AnySession } from '../../session/session.ts';
import type { Prompt } from '../define/define-prompt.ts';
import { checkOutput } from '../request/finish.ts';
import type { CompletedResponse, EvaluationResponse, SuspendedResponse } from './provider-adapter.ts';

/** The response of an evaluation, read from the log alone: the same now and after any restart. */

/** The response of an evaluation that has ended, from the log (D14). */
export async function recordedResponse(
  session: AnySession,
  prompt: Prompt<unknown>,
  evaluation: Evaluation,
): Promise<EvaluationResponse<unknown>> {
  if (evaluation.status === 'failed') {
    const { code, message } = evaluation.error ?? { code: 'EVALUATION_FAILED', message: 'it failed' };
    throw new HoldfastError(code, `evaluation ${evaluation.id} failed: ${message}; start a new one`);
  }
  if (!prompt.output) return respond(session, evaluation.id);
  const newest = await lastResponse(session, evaluation);
  const checked = newest && (await checkOutput(prompt.output.schema, newest));
  if (!checked?.ok) {
    const why =
      newest?.role === 'assistant' && isErasedContent(newest.content)
        ? 'was erased'
        : `does not fit the output schema: ${checked?.problem ?? 'there is none'}`;
    throw new HoldfastError(
      'OUTPUT_INVALID',
      `the recorded response of evaluation ${evaluation.id} ${why}; evaluate again`,
    );
  }
  return respond(session, evaluation.id, { status: 'completed', output: checked.value, pending: [] });
}

/** The fields that are read from the log. */
type Recorded = Pick<SuspendedResponse, 'evaluationId' | 'sessionId' | 'text' | 'usage' | 'turns'>;
type Ended = Omit<CompletedResponse<unknown>, keyof Recorded>;

/** The response of an evaluation: what the log has of it, and what the caller adds. */
export async function respond(
  session: AnySession,
  evaluationId: string,
  how: Ended | Omit<SuspendedResponse, keyof Recorded> = { status: 'completed', output: undefined, pending: [] },
): Promise<EvaluationResponse<unknown>> {
  const evaluation = session.state.record.evaluations.get(evaluationId);
  const newest = evaluation && (await lastResponse(session, evaluation));
  return {
    evaluationId,
    sessionId: session.id,
    text: newest ? textOf(newest) : '',
    usage: evaluation?.totalUsage ?? { inputTokens: 0, outputTokens: 0 },
    turns: evaluation?.turn ?? 0,
    ...how,
  };
}

/** The newest assistant message, with its external content (D58). */
async function lastResponse(session: AnySession, evaluation: Evaluation): Promise<ConversationMessage | undefined> {
  for (let i = evaluation.messages.length - 1; i >= 0; i--) {
    const message = evaluation.messages.at(i);
    if (message?.role === 'assistant') return (await session.resolve([message]))[0];
  }
  return undefined;
}
