import { HoldfastError, messageOf } from '../core/errors.ts';

/** The errors that every store throws with the same messages. Each message states what to do next (D3). */

/** The caller's `expectedSeq` is not the last seq. */
export function sequenceConflict(sessionId: string, actual: number, expected: number): HoldfastError {
  return new HoldfastError(
    'SESSION_CONFLICT',
    `session ${sessionId} is at ${actual}, not ${expected}; read the new events and try again`,
    { detail: 'sequence', data: { actual, expected } },
  );
}

/** The caller's lease was taken over, its session was deleted, or the store never granted this fence. */
export function fenceConflict(sessionId: string, actual: number | undefined, fence: number): HoldfastError {
  return new HoldfastError('SESSION_CONFLICT', `session ${sessionId} ${fenceProblem(actual, fence)}`, {
    detail: 'fence',
    data: { actual, fence },
  });
}

function fenceProblem(actual: number | undefined, fence: number): string {
  if (actual === undefined) {
    return `never had a lease with fence ${fence}, or was deleted since; acquire a lease and write under its fence`;
  }
  return actual > fence
    ? `is under fence ${actual}, not ${fence}: another writer took it over; stop, and resume it if it is still yours`
    : `is under fence ${actual} and never had fence ${fence}; write under the fence of the lease that was granted`;
}

/** The error of an append whose id was used for other events: `APPEND_ID_REUSED`. */
export function appendIdReused(sessionId: string, id: string): HoldfastError {
  return new HoldfastError(
    'APPEND_ID_REUSED',
    `append ${id} of session ${sessionId} was made with other events; give every append an id of its own`,
  );
}

/** The error of every method after `close`: `SESSION_CLOSED`. */
export function storeClosed(): HoldfastError {
  return new HoldfastError('SESSION_CLOSED', 'the store is closed; open it again');
}

/** The error for a session without events: `SESSION_NOT_FOUND`. */
export function sessionNotFound(sessionId: string): HoldfastError {
  return new HoldfastError(
    'SESSION_NOT_FOUND',
    `there is no session ${sessionId}; listSessions() returns the existing ones`,
  );
}

/** The error for a seq that the log does not have: `INVALID_ARGUMENT`. */
export function eventNotFound(sessionId: string, seq: number): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', `session ${sessionId} has no event ${seq} to replace`);
}

/** The error for a snapshot of a later seq than the log has: `INVALID_ARGUMENT`. */
export function snapshotBeyondLog(sessionId: string, seq: number, head: number): HoldfastError {
  return new HoldfastError(
    'INVALID_ARGUMENT',
    `a snapshot at ${seq} is beyond session ${sessionId}, which is at ${head}; take a new one`,
  );
}

/** A built-in event without a field that its type requires: the session's summary cannot be computed. */
export function incompleteEvent(type: string, cause: unknown): HoldfastError {
  return new HoldfastError('EVENT_INVALID', `event "${type}" lacks a required field: ${messageOf(cause)}`, {
    cause,
  });
}

/** The caller opened an incarnation of the session that was deleted. */
export function sessionGone(sessionId: string): HoldfastError {
  return new HoldfastError(
    'SESSION_NOT_FOUND',
    `session ${sessionId} was deleted while it was open; open it again to start a new one`,
  );
}

/** A session refers to content that the store lost. */
export function contentMissing(sessionId: string, hash: string): HoldfastError {
  return new HoldfastError(
    'CONTENT_NOT_FOUND',
    `content ${hash} of session ${sessionId} is missing from the store; run check(), and restore it from a backup`,
  );
}

/** The error of a fork into a session that has events: `SESSION_CONFLICT`. */
export function forkTargetExists(target: string): HoldfastError {
  return new HoldfastError('SESSION_CONFLICT', `there is a session ${target} already; choose another id for the fork`);
}

/** A log that lacks an event is never read on in silence. */
export function gap(sessionId: string, seq: number): HoldfastError {
  return new HoldfastError(
    'STORE_CORRUPT',
    `event ${seq} of session ${sessionId} is missing; run check() and restore a backup`,
  );
}
