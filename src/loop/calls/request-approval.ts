import type { CallState } from '../../core/fold/evaluations.ts';
import type { ToolApprovalRequested, Without } from '../../core/log/events.ts';
import type { CallRef } from '../../core/log/messages.ts';
import { type Run, record } from '../evaluate/run.ts';
import { PlanChanged, whilePlanHolds } from './call-guards.ts';
import { type Approval, prepareRecorded } from './prepare-call.ts';

/**
 * Approvals as the loop sees them (D67): that a call waits, and until when, is in the log before a person can approve it; an approval
 * whose arguments cannot be used is returned; a call that was not approved in time is denied.
 */

type Requested = Without<ToolApprovalRequested, 'seq' | 'at'>;

/** The event that records that a call waits for approval. */
export function approvalRequest(
  run: Run,
  { evaluationId, turn, callId, name }: CallRef & { readonly name: string },
  { expiresAfterMs }: Approval,
): Requested {
  const expiresAt = expiresAfterMs === undefined ? undefined : run.session.clock.now() + expiresAfterMs;
  return {
    type: 'tool/approval-requested',
    evaluationId,
    turn,
    callId,
    toolName: name,
    ...(expiresAt !== undefined && { expiresAt: isoTime(expiresAt) }),
  };
}

/** The latest time that a date can hold. */
const MAX_TIME = 8.64e15;

function isoTime(time: number): string {
  return new Date(Math.min(time, MAX_TIME)).toISOString();
}

/** Records that a call waits, unless the log has it. Throws `PlanChanged` when a person was faster, or too late. */
export async function awaitApproval(run: Run, call: CallState, approval: Approval): Promise<void> {
  if (!call.approvalRequest) await record(run, [approvalRequest(run, call, approval)], { guard: whilePlanHolds(call) });
  else if (isExpired(run, call)) await deny(run, call);
}

/** Returns an approved call to those that wait: its edited arguments cannot be used. */
export async function returnApproval(run: Run, call: CallState, problem: string): Promise<void> {
  const { editedArguments: _, edited: __, ...asWritten } = call;
  const prepared = await prepareRecorded(run, asWritten);
  const approval = (prepared.ok ? await prepared.needsApproval() : undefined) ?? {};
  await record(run, [{ ...approvalRequest(run, call, approval), problem }], { guard: whilePlanHolds(call) });
}

/** Whether the time for an approval has passed. */
function isExpired(run: Run, { approvalRequest: request }: CallState): boolean {
  return request?.expiresAt !== undefined && Date.parse(request.expiresAt) <= run.session.clock.now();
}

async function deny(run: Run, call: CallState): Promise<never> {
  const { evaluationId, turn, callId, attempt } = call;
  const reason = `it was not approved before ${call.approvalRequest?.expiresAt}`;
  await record(run, [{ type: 'tool/denied', evaluationId, turn, callId, attempt, reason }], {
    guard: whilePlanHolds(call),
  });
  throw new PlanChanged(`call ${callId} was denied: ${reason}`);
}
