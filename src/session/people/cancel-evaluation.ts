import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import { type Evaluation, endedEvaluation, isOpen } from '../../core/fold/evaluations.ts';
import type { SessionState } from '../../core/fold/fold.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { CancelOptions, DecisionOptions, Stopped } from '../../core/views/session-decisions.ts';
import type { AnySession } from '../session.ts';

/** The session of an evaluation that is cancelled. */
type CancelledSession = Pick<AnySession, 'id' | 'state' | 'refresh' | 'append'>;

const KNOWN: KnownOptions<CancelOptions> = { evaluationId: true, reason: true, by: true };

/**
 * Stops an evaluation from any process, without a lease: appends `evaluation/cancel-requested`, which the process that runs the
 * evaluation obeys within a second (D73). It aborts the model call and the signals of tools and child conversations, records the
 * response so far, and suspends with `CANCELLED`. Resolves when the request is durable, not when it is obeyed.
 *
 * `resume: true` and `resume: { evaluationId }` continue the evaluation later; `resume: 'auto'` does not. When no process runs it, the
 * next run obeys the request first. An evaluation that has ended or does not exist is `CONVERSATION_NOT_FOUND`.
 */
export async function cancelEvaluation(session: CancelledSession, options: CancelOptions = {}): Promise<void> {
  checkOptions(options);
  const { reason, by } = options;
  await session.refresh();
  const { id: evaluationId } = evaluationToCancel(session, session.state, options.evaluationId);
  const evidence = { ...(reason !== undefined && { reason }), ...(by !== undefined && { by }) };
  await session.append([{ type: 'evaluation/cancel-requested', evaluationId, ...evidence }], {
    guard: (state) => void evaluationToCancel(session, state, evaluationId),
  });
}

function checkOptions(options: CancelOptions): void {
  if (typeof options !== 'object' || options === null) {
    throw new HoldfastError('INVALID_ARGUMENT', 'session.cancel takes { evaluationId?, reason?, by? }');
  }
  refuseUnknownOptions('session.cancel', options, KNOWN);
  for (const name of ['evaluationId', 'reason', 'by'] as const) {
    const value: unknown = options[name];
    if (value === undefined || typeof value === 'string') continue;
    throw new HoldfastError('INVALID_ARGUMENT', `${name} of session.cancel is a string, not ${typeof value}`);
  }
}

/** The evaluation, if it can still be stopped. */
function evaluationToCancel(
  { id: sessionId }: Pick<AnySession, 'id'>,
  state: SessionState,
  id: string | undefined,
): Evaluation {
  const { evaluations } = state.record;
  const evaluation = id === undefined ? newestOpen(state) : evaluations.get(id);
  if (!evaluation) {
    const which = id === undefined ? 'open evaluation' : `evaluation ${id}`;
    throw notFound(`session ${sessionId} has no ${which} to cancel`);
  }
  const ended = endedEvaluation(evaluations, evaluation.id);
  if (ended) throw notFound(`evaluation ${ended.id} is ${ended.status}; nothing is left to cancel`);
  if (evaluation.parent && evaluation.adapterType !== undefined) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `evaluation ${evaluation.id} is a subagent of ${evaluation.adapterType}, which cannot be stopped alone; cancel evaluation ${evaluation.parent.evaluationId}`,
    );
  }
  return evaluation;
}

/** Messages that were imported without a start are of no evaluation that could run. */
function newestOpen({ record: { evaluations } }: SessionState): Evaluation | undefined {
  for (let i = evaluations.length - 1; i >= 0; i--) {
    const evaluation = evaluations.items.at(i);
    if (evaluation?.conversationId === 'main' && evaluation.promptHash !== '' && isOpen(evaluation)) return evaluation;
  }
  return undefined;
}

function notFound(why: string): HoldfastError {
  return new HoldfastError('CONVERSATION_NOT_FOUND', why);
}

const STOP: KnownOptions<DecisionOptions> = { by: true };

/** Withdraws what is queued, then cancels what is open: in the other order a runner could place an input in between. */
export async function stopSession(
  session: Pick<AnySession, 'id' | 'state' | 'refresh' | 'append' | 'queue' | 'withdraw'>,
  options: DecisionOptions = {},
): Promise<Stopped> {
  refuseUnknownOptions('session.stop', options, STOP);
  await session.refresh();
  const withdrawn: string[] = [];
  for (const { id } of session.queue()) if (await session.withdraw(id, options)) withdrawn.push(id);
  try {
    await cancelEvaluation(session, options);
    return { cancelled: true, withdrawn };
  } catch (error) {
    if (!isHoldfastError(error, 'CONVERSATION_NOT_FOUND')) throw error;
    return { cancelled: false, withdrawn };
  }
}
