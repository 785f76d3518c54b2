import { HoldfastError } from '../../core/errors.ts';
import { makesCall } from '../../core/fold/asked-calls.ts';
import { type CallState, type Evaluation, endedEvaluation, findCall, hasResult } from '../../core/fold/evaluations.ts';
import type { SessionState } from '../../core/fold/fold.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { Settlement, ToolApproved, ToolDenied, ToolSettled, Without } from '../../core/log/events.ts';
import type { CallRef } from '../../core/log/messages.ts';
import type { ApproveOptions, DecisionOptions, DenyOptions } from '../../core/views/session-decisions.ts';
import type { Lease } from '../../ports/store.ts';
import { lateModule } from '../../stores/late-module.ts';
import { isDead } from '../process-identity.ts';
import type { AnySession } from '../session.ts';
import { argumentsOf, MISSING, missingArguments } from './call-arguments.ts';

/**
 * A person's decision about a call that waits. Each is one event, needs no lease, and is carried out by the next resume (D51). The
 * first decision wins, from whichever process: the call is checked again before every try of the append (D67).
 */

/** The session of a call that is decided. */
type CallSession = Pick<AnySession, 'id' | 'store' | 'incarnation' | 'clock' | 'state' | 'refresh' | 'append'>;

const SETTLE: KnownOptions<DecisionOptions> = { by: true };

/** Settles a call whose outcome is unknown: gives its result, or allows it to run again (D18). */
export async function settleCall(
  session: CallSession,
  call: CallRef,
  how: Settlement,
  options: DecisionOptions = {},
): Promise<void> {
  refuseUnknownOptions('session.settle', options, SETTLE);
  checkSettlement(how);
  await session.refresh();
  const before = openCall(session, session.state, call);
  await refuseWhileRunning(session, before);
  if ('rerun' in how && (await argumentsOf(session, before)) === undefined) {
    throw missingArguments(before, `it cannot run again: ${MISSING}; settle it with { result }`);
  }
  const attempt = before.attempt;
  const evidence = options.by === undefined ? {} : { by: options.by };
  await record(session, { type: 'tool/settled', ...ref(call), attempt, how, ...evidence }, (state) => {
    const now = openCall(session, state, { ...call, attempt });
    const { settlement } = now;
    if (settlement && lateModule('node:util').isDeepStrictEqual(settlement, how)) throw new AlreadyRecorded();
    if (settlement && !('rerun' in settlement)) {
      throw decided(`call ${call.callId} was settled with another result already; resume to record it`);
    }
    if (now.approval === 'denied') throw decided(`call ${call.callId} was denied already; resume to record it`);
    if (now.erased && 'rerun' in how)
      refuse(`the arguments of call ${call.callId} were erased; settle it with { result }`);
  });
}

function checkSettlement(how: Settlement): void {
  if (typeof how !== 'object' || how === null || 'result' in how === 'rerun' in how) {
    refuse('settle a call with either { result } or { rerun: true }');
  }
  if ('rerun' in how && ('isError' in how || how.rerun !== true)) refuse('rerun is true, and has no isError');
}

const APPROVE: KnownOptions<ApproveOptions> = { by: true, note: true, arguments: true };

/** Lets a call that waits for approval run. */
export async function approveCall(session: CallSession, call: CallRef, options: ApproveOptions = {}): Promise<void> {
  refuseUnknownOptions('session.approve', options, APPROVE);
  const { by, note, arguments: edited } = options;
  const evidence = {
    ...(by !== undefined && { by }),
    ...(note !== undefined && { note }),
    ...(edited !== undefined && { arguments: edited }),
  };
  await session.refresh();
  await record(session, { type: 'tool/approved', ...ref(call), ...evidence }, (state) => {
    const now = undecidedCall(session, state, call);
    if (!now.approvalRequest)
      refuse(`call ${call.callId} does not wait for approval; list those with session.pending()`);
    const { expiresAt } = now.approvalRequest;
    if (expiresAt !== undefined && Date.parse(expiresAt) <= session.clock.now()) {
      throw decided(`call ${call.callId} could be approved until ${expiresAt}; resume to record that it is denied`);
    }
  });
}

const DENY: KnownOptions<DenyOptions> = { by: true, reason: true };

/** Denies a call that was not started; the model receives the reason. */
export async function denyCall(session: CallSession, call: CallRef, options: DenyOptions = {}): Promise<void> {
  refuseUnknownOptions('session.deny', options, DENY);
  const { reason, by } = options;
  const evidence = { ...(reason !== undefined && { reason }), ...(by !== undefined && { by }) };
  await session.refresh();
  await record(session, { type: 'tool/denied', ...ref(call), ...evidence }, (state) => {
    undecidedCall(session, state, call);
  });
}

/** The same decision is in the log already: nothing has to be appended. */
class AlreadyRecorded extends Error {}

type Decision = Without<ToolApproved | ToolDenied | ToolSettled, 'seq' | 'at'>;

async function record(session: CallSession, event: Decision, guard: (state: SessionState) => void): Promise<void> {
  try {
    await session.append([event], { guard });
  } catch (error) {
    if (!(error instanceof AlreadyRecorded)) throw error;
  }
}

/** The call, if a person may still decide about it. */
function undecidedCall(session: CallSession, state: SessionState, call: CallRef): CallState {
  const now = openCall(session, state, call);
  const { callId } = call;
  if (now.status === 'started') {
    const why = `call ${callId} was started already; settle it instead`;
    throw now.approval ? decided(why) : new HoldfastError('INVALID_ARGUMENT', why); // without a decision it is no lost race
  }
  if (now.settlement && 'result' in now.settlement) {
    throw decided(`call ${callId} was settled already; resume to record it`);
  }
  if (now.approval) {
    const by = now.decision?.by === undefined ? '' : ` by ${now.decision.by}`;
    throw decided(`call ${callId} was ${now.approval}${by} already; the first decision counts`);
  }
  return now;
}

/** Returns the call if it still waits; a decision may be late, or wrong. */
function openCall(session: CallSession, state: SessionState, call: CallRef): CallState {
  const { evaluations } = state.record;
  const { callId, turn, evaluationId } = call;
  const now = findCall(evaluations, call);
  if (!now && !wasMade(evaluations.get(evaluationId), call)) {
    throw notFound(
      `session ${session.id} has no call ${callId} in turn ${turn} of evaluation ${evaluationId}; list the open ones with session.pending()`,
    );
  }
  const ended = endedEvaluation(evaluations, evaluationId);
  if (ended) throw tooLate(`evaluation ${ended.id} is ${ended.status}; nothing is left to settle`);
  if (!now || hasResult(now)) throw tooLate(`call ${callId} has its result already; nothing is left to settle`);
  const { attempt = now.attempt } = call;
  if (attempt !== now.attempt) {
    const why = `call ${callId} was started ${now.attempt} times by now, not ${attempt}; list it again with session.pending()`;
    throw attempt < now.attempt ? tooLate(why) : notFound(why);
  }
  return now;
}

/** Whether a response of the evaluation made the call, in whichever turn. */
function wasMade(evaluation: Evaluation | undefined, { turn, callId }: CallRef): boolean {
  for (const message of evaluation?.messages ?? []) {
    if (message.turn === turn && makesCall(message, callId)) return true;
  }
  return false;
}

/** Throws for a call that runs: only its process can know its outcome. */
async function refuseWhileRunning(session: CallSession, { status, fence, callId }: CallState): Promise<void> {
  if (status !== 'started') return;
  const lease = await liveLease(session);
  if (!lease || (fence !== undefined && fence !== lease.fence)) return;
  throw new HoldfastError(
    'SESSION_BUSY',
    `call ${callId} is being run by process ${lease.holder.pid} on ${lease.holder.host}; wait for its result, or until that process has ended`,
    { data: lease },
  );
}

function refuse(why: string): never {
  throw new HoldfastError('INVALID_ARGUMENT', why);
}

/** Another person was first. */
function decided(why: string): HoldfastError {
  return new HoldfastError('CALL_DECIDED', why);
}

function notFound(why: string): HoldfastError {
  return new HoldfastError('TOOL_CALL_NOT_FOUND', why);
}

/** The call was there: it has ended, or runs again, since the caller read it. */
function tooLate(why: string): HoldfastError {
  return new HoldfastError('TOOL_CALL_NOT_FOUND', why, { detail: 'late' });
}

function ref({ evaluationId, turn, callId, attempt }: CallRef): CallRef {
  return { evaluationId, turn, callId, ...(attempt !== undefined && { attempt }) };
}

/**
 * The lease of a session while its holder may still act: one that has not expired and whose process is not known to be dead. The
 * store reports its end by the current wall clock, so that a changed clock makes no difference (D76).
 */
async function liveLease(session: Pick<AnySession, 'id' | 'store' | 'clock'>): Promise<Lease | undefined> {
  const lease = await session.store.readLease(session.id);
  return lease && lease.expiresAt > session.clock.now() && !isDead(lease.holder) ? lease : undefined;
}
