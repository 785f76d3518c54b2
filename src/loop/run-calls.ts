import { findCall, hasResult } from '../core/evaluations.ts';
import type { NewEvent, Without } from '../core/events.ts';
import { type CallRef, callKey } from '../core/messages.ts';
import { type PlannedCall, planCall } from '../core/resume-plan.ts';
import { PlanChanged, unlessOvertaken } from './call-guards.ts';
import { Suspension } from './limits.ts';
import { currentEvaluation, ENVELOPE, isRefusedEvent, type Run, record, toolMessage } from './run.ts';
import { type CallResult, runCall } from './run-call.ts';
import { describeError, failure, type ToolOutcome } from './tool-result.ts';

/**
 * Carries out the calls of a turn, side by side. Each result is recorded the moment it is there (D22); results that are there
 * together share a commit. Calls that wait for a person suspend the evaluation when every other call has finished (D18).
 */
export async function runCalls(run: Run, calls: readonly PlannedCall[]): Promise<void> {
  const { maxParallelCalls = calls.length } = run.options;
  const waiting: { readonly planned: PlannedCall; readonly result: Waits }[] = [];
  const queue = [...calls];
  let sequence = currentEvaluation(run).nextSequence;
  let running = 0;

  const recordOutcome = (planned: PlannedCall, outcome: ToolOutcome, staged: readonly NewEvent[]): Promise<void> => {
    const message = toolMessage(run, planned.call, outcome, sequence++);
    const recorded = [...staged, { type: 'message/recorded', message }] as readonly Without<NewEvent, 'at'>[];
    const { characters } = outcome;
    const plain = characters !== undefined && staged.length === 0 ? characters + ENVELOPE : undefined;
    const discarded = outcome.isError ? staged.length : 0;
    const guard = unlessOvertaken(run.fence, planned.call);
    // A result that this process knows must not become unknown because a store is busy or full for a moment.
    return record(run, recorded, { now: running === 0, plain, discarded, guard, untilStored: true });
  };
  const settle = async (planned: PlannedCall, result: CallResult): Promise<void> => {
    if (result.type === 'waits') {
      waiting.push({ planned, result });
      return;
    }
    try {
      await recordOutcome(planned, result.outcome, result.staged);
    } catch (error) {
      // What the tool said or dispatched cannot be recorded: the model is told, and the run goes on (D20).
      if (!isRefusedEvent(error)) throw error;
      const { name } = planned.call;
      await recordOutcome(planned, failure(`"${name}" ran, but its result was refused: ${describeError(error)}`), []);
    }
  };
  const counted = async (planned: PlannedCall): Promise<CallResult> => {
    running++;
    try {
      return await runCall(run, planned);
    } finally {
      running--;
    }
  };
  /** Carries out a call by what the log says of it now, again when the log says something else by then. */
  const carryOut = async (call: CallRef): Promise<void> => {
    for (let planned = newestPlan(run, call); planned; planned = newestPlan(run, call)) {
      try {
        return await settle(planned, await counted(planned));
      } catch (error) {
        if (!(error instanceof PlanChanged)) throw error;
      }
    }
  };
  const work = async (): Promise<void> => {
    for (let planned = queue.shift(); planned; planned = queue.shift()) await carryOut(planned.call);
  };

  const workers = Array.from({ length: Math.min(maxParallelCalls, calls.length) }, work);
  const ended = await Promise.allSettled(workers);
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  const place = ({ planned }: (typeof waiting)[number]): number =>
    calls.findIndex(({ call }) => callKey(call) === callKey(planned.call));
  waiting.sort((a, b) => place(a) - place(b));
  const first = waiting.find(({ result }) => result.reason === 'TOOL_OUTCOME_UNKNOWN') ?? waiting[0];
  if (!first || (await someoneSpoke(run, waiting))) return;
  const pending = waiting.flatMap(({ planned: { call }, result }) => result.pending ?? [pendingRef(run, call)]);
  throw new Suspension(first.result.reason, first.result.message, { cause: pending });
}

/** A call that waits for a person, as the log has it now: with the number of its newest run. */
export function pendingRef(run: Run, call: CallRef): CallRef {
  const { evaluationId, turn, callId } = call;
  const { attempt = 0 } = findCall(run.session.state.record.evaluations, call) ?? {};
  return { evaluationId, turn, callId, attempt };
}

/** What is planned for a call now, or nothing when it has its result: a person may have spoken meanwhile. */
function newestPlan(run: Run, call: CallRef): PlannedCall | undefined {
  const now = findCall(run.session.state.record.evaluations, call);
  return now && !hasResult(now) ? planCall(now) : undefined;
}

/** Whether the log says something else of one of these calls than when it began to wait: then there is more to do. */
async function someoneSpoke(
  run: Run,
  waiting: readonly { readonly planned: PlannedCall; readonly result: Waits }[],
): Promise<boolean> {
  await run.session.refresh();
  const { evaluations } = run.session.state.record;
  return waiting.some(({ planned: { call }, result }) => {
    const now = findCall(evaluations, call);
    if (!now || hasResult(now)) return true;
    return !result.pending && (now.approval !== call.approval || now.settlement !== call.settlement);
  });
}

type Waits = Extract<CallResult, { readonly type: 'waits' }>;
