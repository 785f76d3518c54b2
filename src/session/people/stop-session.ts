import { isHoldfastError } from '../../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { DecisionOptions, Stopped } from '../../core/views/session-decisions.ts';
import type { AnySession } from '../session.ts';
import { cancelEvaluation } from './cancel-evaluation.ts';

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
