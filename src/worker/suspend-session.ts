import { isHoldfastError } from '../core/errors.ts';
import { holdLease } from '../session/lease.ts';
import type { AnySession } from '../session/session.ts';
import { loggedError } from './back-off.ts';

/** A session whose runs fail again and again is suspended until a person lets workers run it again (D79). */

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
