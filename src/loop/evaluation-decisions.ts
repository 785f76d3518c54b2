import { HoldfastError, isHoldfastError } from '../core/errors.ts';
import { type Evaluation, isOpen } from '../core/evaluations.ts';
import type { EvaluationResumeRequested, RaisedBudget, Without } from '../core/events.ts';
import type { SessionState } from '../core/fold.ts';
import { type KnownOptions, refuseUnknownOptions } from '../core/known-options.ts';
import { newestRunnable } from '../core/run-plan.ts';
import type { Lease } from '../ports/store.ts';
import { type HeldLease, holdLease } from '../session/lease.ts';
import type { AnySession } from '../session/session.ts';
import { budgetProblem } from './check-options.ts';

/**
 * Decisions of a person about an evaluation that is suspended or has failed, from any process (D61, D73). Each is one event, which the
 * next `run` obeys.
 */

/** Which evaluation is abandoned, and what is recorded with it. */
export interface AbandonOptions {
  /** The newest of the main conversation unless given. */
  readonly evaluationId?: string;
  readonly reason?: string;
  /** The person or program that abandons it. */
  readonly by?: string;
}

const ABANDON: KnownOptions<AbandonOptions> = { evaluationId: true, reason: true, by: true };

/**
 * Abandons an evaluation that is suspended or has failed, so that `run` places the next input. That input continues what this one continued
 * (D61). While a process runs the session it is `SESSION_BUSY`: cancel the evaluation first. The lease is held for the append, because
 * a runner that resumes a suspended evaluation asks the model before it appends anything.
 */
export async function abandonEvaluation(session: AnySession, options: AbandonOptions = {}): Promise<void> {
  refuseUnknownOptions('abandonEvaluation', options, ABANDON);
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

async function leaseToAbandon(session: AnySession, evaluationId: string): Promise<HeldLease> {
  try {
    return await holdLease(session.store, session.id, { clock: session.clock });
  } catch (error) {
    if (!isHoldfastError(error, 'SESSION_BUSY')) throw error;
    const { holder } = error.data as Lease;
    throw new HoldfastError(
      'SESSION_BUSY',
      `session ${session.id} is being run by process ${holder.pid} on ${holder.host}; cancelEvaluation first, or wait for its end, then abandon evaluation ${evaluationId}`,
      { data: error.data },
    );
  }
}

/** Which evaluation is resumed, and with which limits. */
export interface ResumeOptions {
  /** The newest of the main conversation unless given. */
  readonly evaluationId?: string;
  /** Limits that replace the options of the process that runs it. */
  readonly budget?: RaisedBudget;
  readonly maxTurns?: number;
  /** The person or program that requests it. */
  readonly by?: string;
}

const RESUME: KnownOptions<ResumeOptions> = { evaluationId: true, budget: true, maxTurns: true, by: true };

/**
 * Requests that a suspended evaluation continues, also one that was cancelled: work for whichever process runs the session (D73). The
 * named limits are raised for the rest of the evaluation. Resolves when the request is durable.
 */
export async function resumeEvaluation(session: AnySession, options: ResumeOptions = {}): Promise<void> {
  refuseUnknownOptions('resumeEvaluation', options, RESUME);
  const { budget, maxTurns, by } = options;
  const problem = budgetProblem({ ...budget, maxTurns });
  if (problem) throw new HoldfastError('INVALID_ARGUMENT', problem);
  await session.refresh();
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
  session: AnySession,
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
