import type { NewEvent, SuspendReason, Without } from '../core/events.ts';
import type { CallRef } from '../core/messages.ts';
import type { PlannedCall } from '../core/resume-plan.ts';
import { Suspension } from './limits.ts';
import { currentEvaluation, type Run, record, toolMessage } from './run.ts';
import { type CallResult, runCall } from './run-call.ts';

/**
 * Carries out the calls of a turn, side by side. Each result is recorded the moment it is there (D22); results that are there
 * together share a commit. Calls that wait for a person suspend the evaluation when every other call has finished (D18).
 */
export async function runCalls(run: Run, calls: readonly PlannedCall[]): Promise<void> {
  const { maxParallelCalls = calls.length } = run.options;
  const waiting: { readonly call: CallRef; readonly reason: SuspendReason; readonly message: string }[] = [];
  const queue = [...calls];
  let sequence = currentEvaluation(run).nextSequence;

  const settle = async (planned: PlannedCall, result: CallResult): Promise<void> => {
    if (result.type === 'waits') {
      const { evaluationId, turn, callId } = planned.call;
      const pending = result.pending ?? [{ evaluationId, turn, callId }];
      for (const call of pending) waiting.push({ call, reason: result.reason, message: result.message });
      return;
    }
    const message = toolMessage(run, planned.call, result.outcome, sequence++);
    const staged = result.outcome.isError
      ? result.staged.map((event) => ({ ...event, discarded: true as const }))
      : result.staged;
    await record(run, [...staged, { type: 'message/recorded', message }] as readonly Without<NewEvent, 'at'>[]);
  };
  const work = async (): Promise<void> => {
    for (let planned = queue.shift(); planned; planned = queue.shift()) {
      await settle(planned, await runCall(run, planned));
    }
  };

  const workers = Array.from({ length: Math.max(1, Math.min(maxParallelCalls, calls.length)) }, work);
  const ended = await Promise.allSettled(workers);
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  const first = waiting.find((one) => one.reason === 'TOOL_OUTCOME_UNKNOWN') ?? waiting[0];
  if (first) throw new Suspension(first.reason, first.message, { cause: waiting.map((one) => one.call) });
}
