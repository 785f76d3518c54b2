import { isHoldfastError } from '../core/errors.ts';
import type { RunResult } from '../loop/evaluate/provider-adapter.ts';
import { holdLease } from '../session/lease.ts';
import type { AnySession } from '../session/session.ts';
import { loggedError } from './back-off.ts';

/**
 * How a worker leaves a session: suspended until a person lets workers run it again, after its runs have failed again and again (D79), or
 * to the next worker, when this one stops.
 */

/** Thrown instead of the append when something has happened since the last failure. */
class Changed extends Error {}

/**
 * Suspends a session that is at `seq`, under its lease. Returns false, and changes nothing, if something was appended since or another
 * process runs the session: then there is a reason to try again.
 */
export async function suspendSession(
  session: AnySession,
  {
    error,
    attempts,
    seq,
    by,
  }: { readonly error: unknown; readonly attempts: number; readonly seq: number; readonly by: string },
): Promise<boolean> {
  try {
    const lease = await holdLease(session.store, session.id, { clock: session.clock });
    try {
      await session.append([{ type: 'session/suspended', error: loggedError(error), attempts, by }], {
        fence: lease.fence,
        guard: (state) => {
          if (state.seq !== seq) throw new Changed('something was appended since');
        },
      });
      return true;
    } finally {
      await lease.release();
    }
  } catch (problem) {
    if (problem instanceof Changed || isHoldfastError(problem, 'SESSION_BUSY')) return false;
    throw problem;
  }
}

/** Requests that an evaluation is continued which this process interrupted, and no person. */
export async function leaveForNext(session: AnySession, { responses }: RunResult<unknown>): Promise<void> {
  const last = responses.at(-1);
  if (last?.reason !== 'CANCELLED') return;
  const evaluation = session.state.record.evaluations.get(last.evaluationId);
  if (evaluation?.status !== 'suspended' || evaluation.cancelRequest) return;
  await session.resume({ evaluationId: evaluation.id, by: 'holdfast/worker' });
}
