import type { NewEvent, Without } from '../core/events.ts';
import { callKey } from '../core/messages.ts';
import { type PlannedCall, planEvaluation } from '../core/resume-plan.ts';
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
    return record(run, recorded, { now: running === 0, plain, discarded });
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
  const work = async (): Promise<void> => {
    for (let planned = queue.shift(); planned; planned = queue.shift()) {
      running++;
      planned = newestPlan(run, planned);
      const result = await runCall(run, planned);
      running--;
      await settle(planned, result);
    }
  };

  const workers = Array.from({ length: Math.min(maxParallelCalls, calls.length) }, work);
  const ended = await Promise.allSettled(workers);
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  const first = waiting.find(({ result }) => result.reason === 'TOOL_OUTCOME_UNKNOWN') ?? waiting[0];
  if (!first || (await someoneSpoke(run, waiting))) return;
  const pending = waiting.flatMap(({ planned: { call }, result }) => {
    const { evaluationId, turn, callId } = call;
    return result.pending ?? [{ evaluationId, turn, callId }];
  });
  throw new Suspension(first.result.reason, first.result.message, { cause: pending });
}

/** The plan of a call that has waited for its turn: a person may have spoken meanwhile. */
function newestPlan(run: Run, planned: PlannedCall): PlannedCall {
  const evaluation = currentEvaluation(run);
  if (evaluation.calls.includes(planned.call)) return planned;
  const plan = planEvaluation(evaluation);
  const same = ({ call }: PlannedCall): boolean => callKey(call) === callKey(planned.call);
  return (plan.do === 'run-calls' ? plan.calls.find(same) : undefined) ?? planned;
}

/** Whether a person has said of one of these calls what it waits for: then there is more to do. */
async function someoneSpoke(
  run: Run,
  waiting: readonly { readonly planned: PlannedCall; readonly result: Waits }[],
): Promise<boolean> {
  await run.session.refresh();
  const { calls } = currentEvaluation(run);
  return waiting.some(({ planned: { call }, result }) => {
    const now = calls.find((one) => callKey(one) === callKey(call));
    return !result.pending && now && (now.approval !== call.approval || now.settlement !== call.settlement);
  });
}

type Waits = Extract<CallResult, { readonly type: 'waits' }>;
