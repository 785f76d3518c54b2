import type { NewEvent, Without } from '../core/events.ts';
import type { PlannedCall } from '../core/resume-plan.ts';
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
    const events = outcome.isError ? staged.map((event) => ({ ...event, discarded: true as const })) : staged;
    const recorded = [...events, { type: 'message/recorded', message }] as readonly Without<NewEvent, 'at'>[];
    const { characters } = outcome;
    const plain = characters !== undefined && staged.length === 0 ? characters + ENVELOPE : undefined;
    return record(run, recorded, { now: running === 0, plain });
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
      const result = await runCall(run, planned);
      running--;
      await settle(planned, result);
    }
  };

  const workers = Array.from({ length: Math.min(maxParallelCalls, calls.length) }, work);
  const ended = await Promise.allSettled(workers);
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  const first = waiting.find(({ result }) => result.reason === 'TOOL_OUTCOME_UNKNOWN') ?? waiting[0];
  if (!first) return;
  const pending = waiting.flatMap(({ planned: { call }, result }) => {
    const { evaluationId, turn, callId } = call;
    return result.pending ?? [{ evaluationId, turn, callId }];
  });
  throw new Suspension(first.result.reason, first.result.message, { cause: pending });
}

type Waits = Extract<CallResult, { readonly type: 'waits' }>;
