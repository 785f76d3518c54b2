import { type CallState, findCall, hasResult, isDecided } from '../../core/fold/evaluations.ts';
import type { CallRef } from '../../core/log/messages.ts';
import { planCall } from '../../core/plan/resume-plan.ts';
import type { AppendGuard } from '../../session/append/append-queue.ts';

/**
 * What the loop asks of the log in the same breath as it appends: a person may approve, deny, settle or erase at any moment, from
 * any process and without a lease (D51, D67). The first one in the log wins.
 */

/** Thrown instead of an append when the log has changed the plan of a call. */
export class PlanChanged extends Error {}

/** A guard for an append about a call: throws `PlanChanged` when the call has its result, or a person has decided about it, since. */
export function whilePlanHolds(call: CallState): AppendGuard {
  return ({ record: { evaluations } }) => {
    const now = findCall(evaluations, call);
    if (now && !hasResult(now) && now.approval === call.approval && now.settlement === call.settlement) return;
    throw new PlanChanged(`the log has changed the plan of call ${call.callId}`);
  };
}

/** The same for a call's outcome: a call that was started under this lease has run, whatever a person decides (D67). */
export function unlessOvertaken(fence: number, call: CallState): AppendGuard {
  const holds = whilePlanHolds(call);
  return (state) => {
    const now = findCall(state.record.evaluations, call);
    if (now?.status !== 'started' || now.fence !== fence) holds(state);
  };
}

/** A guard for an agent's own plan, which knows nothing of the log: throws when a person has decided that the call must not run. */
export function unlessDecided(call: CallRef): AppendGuard {
  return (state) => {
    const now = findCall(state.record.evaluations, call);
    const mayRun = now && !hasResult(now) && !['settle', 'deny'].includes(planCall(now).action);
    if (!now || mayRun) return;
    throw new PlanChanged(`call ${call.callId} was decided about before it began`);
  };
}

/** A guard for a result that an agent reports: throws when the call has one. */
export function unlessResultRecorded(call: CallRef): AppendGuard {
  return (state) => {
    const now = findCall(state.record.evaluations, call);
    if (now && hasResult(now)) throw new PlanChanged(`call ${call.callId} has its result`);
  };
}

/**
 * A guard for a suspension that waits for a person: throws when the person has decided about one of the calls since. The decision came
 * while the evaluation was running, so it would wake no runner.
 */
export function unlessAnyDecided(calls: readonly CallRef[]): AppendGuard {
  return ({ record: { evaluations } }) => {
    const decided = calls.find((call) => {
      const now = findCall(evaluations, call);
      return now !== undefined && isDecided(now);
    });
    if (decided) throw new PlanChanged(`call ${decided.callId} was decided about before the evaluation was suspended`);
  };
}
