import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import { type Evaluation, isOpen, type RaisedLimits } from '../../core/fold/evaluations.ts';
import type { SessionState } from '../../core/fold/fold.ts';
import { type KnownOptions, limitProblem, refuseUnknownOptions } from '../../core/known-options.ts';
import type { EvaluationResumeRequested, Without } from '../../core/log/events.ts';
import { newestRunnable } from '../../core/plan/run-plan.ts';
import type { AbandonOptions, ResumeOptions } from '../../core/views/session-decisions.ts';
import type { Lease } from '../../ports/store.ts';
import { type HeldLease, holdLease } from '../lease.ts';
import type { AnySession } from '../session.ts';

/**
 * Decisions of a person about an evaluation that is suspended or has failed, from any process (D61, D73). Each is one event, which the
 * next `run` obeys.
 */

/** The session of an evaluation that is resumed or abandoned. */
type EvaluationSession = Pick<AnySession, 'id' | 'store' | 'clock' | 'state' | 'summary' | 'refresh' | 'append'>;

const ABANDON: KnownOptions<AbandonOptions> = { evaluationId: true, reason: true, by: true };

/**
 * Abandons an evaluation that is suspended or has failed, so that `run` places the next input. That input continues what this one continued
 * (D61). While a process runs the session it is `SESSION_BUSY`: cancel the evaluation first. The lease is held for the append, because
 * a runner that resumes a suspended evaluation asks the model before it appends anything.
 */
export async function abandonEvaluation(session: EvaluationSession, options: AbandonOptions = {}): Promise<void> {
  refuseUnknownOptions('session.abandon', options, ABANDON);
  const { reason, by } = options;
  await session.refresh();
  const { id: evaluationId } = evaluationToChange(session, session.state, options.evaluationId, 'abandon');
  const evidence = { ...(reason !== undefined && { reason }), ...(by !== undefined && { abandonedBy: by }) };
  const lease = await leaseToAbandon(session, evaluationId);
  try {
    await session.append([{ type: 'evaluation/superseded', evaluationId, ...evidence }], {
      fence: lease.fence,
      guard: (state) => void evaluationToChange(session, state, evaluationId, 'abandon'),
    });
  } finally {
    await lease.release();
  }
}

async function leaseToAbandon(session: EvaluationSession, evaluationId: string): Promise<HeldLease> {
  try {
    return await holdLease(session.store, session.id, { clock: session.clock });
  } catch (error) {
    if (!isHoldfastError(error, 'SESSION_BUSY')) throw error;
    const { holder } = error.data as Lease;
    throw new HoldfastError(
      'SESSION_BUSY',
      `session ${session.id} is being run by process ${holder.pid} on ${holder.host}; session.cancel first, or wait for its end, then abandon evaluation ${evaluationId}`,
      { data: error.data },
    );
  }
}

const RESUME: KnownOptions<ResumeOptions> = { evaluationId: true, raise: true, by: true };
const RAISE: KnownOptions<RaisedLimits> = { budget: true, maxTurns: true };

/**
 * Requests that a suspended evaluation continues, also one that was cancelled: work for whichever process runs the session (D73). The
 * named limits are raised for the rest of the evaluation. If workers gave up on the session, they run it again: any event of a person
 * is a reason to (D79), so that a request which names an evaluation or limits is recorded as such, and any other as `session/resumed`.
 */
export async function resumeWork(session: EvaluationSession, options: ResumeOptions = {}): Promise<void> {
  refuseUnknownOptions('session.resume', options, RESUME);
  refuseUnknownOptions('raise', options.raise, RAISE);
  const { raise, by } = options;
  const { budget, maxTurns } = raise ?? {};
  const problem = limitProblem({ ...budget, maxTurns });
  if (problem) throw new HoldfastError('INVALID_ARGUMENT', problem);
  await session.refresh();
  if (session.summary?.suspended && options.evaluationId === undefined && !raise) {
    await session.append([{ type: 'session/resumed', ...(by !== undefined && { by }) }]);
    return;
  }
  const { id: evaluationId } = evaluationToChange(session, session.state, options.evaluationId, 'resume');
  const event: Without<EvaluationResumeRequested, 'seq' | 'at'> = {
    type: 'evaluation/resume-requested',
    evaluationId,
    ...(budget && { budget }),
    ...(maxTurns !== undefined && { maxTurns }),
    ...(by !== undefined && { by }),
  };
  await session.append([event], {
    guard: (state) => void evaluationToChange(session, state, evaluationId, 'resume'),
  });
}

/** The evaluation, if this can still be decided about it. */
function evaluationToChange(
  session: EvaluationSession,
  { record: { evaluations } }: SessionState,
  id: string | undefined,
  what: 'abandon' | 'resume',
): Evaluation {
  const evaluation = id === undefined ? newestRunnable(evaluations) : evaluations.get(id);
  if (evaluation?.conversationId !== 'main') {
    const which = id === undefined ? 'evaluation' : `evaluation ${id} of the main conversation`;
    throw new HoldfastError('CONVERSATION_NOT_FOUND', `session ${session.id} has no ${which} to ${what}`);
  }
  if (isOpen(evaluation) || (what === 'abandon' && evaluation.status === 'failed')) return evaluation;
  throw new HoldfastError(
    'CONVERSATION_NOT_FOUND',
    `evaluation ${evaluation.id} is ${evaluation.status}; there is nothing to ${what}`,
  );
}
