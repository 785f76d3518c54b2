import type { CallState } from '../../core/fold/evaluations.ts';
import type { NewEvent, ToolDeferred, Without } from '../../core/log/events.ts';
import type { AnyTool } from '../define/define-tool.ts';
import type { SuspendedCall } from '../define/suspend-until.ts';
import { describeError, failure, resultOf } from '../define/tool-result.ts';
import { isRefusedEvent, type Run, record } from '../evaluate/run.ts';
import { unlessOvertaken } from './call-guards.ts';
import type { CallResult } from './run-call.ts';

/** Calls that wait for a time (D78): the timer is in the log before the evaluation is suspended. */

/** A handler that returns a time in the past must not run in a tight loop. */
const SHORTEST_MS = 1000;

/** Records that a call waits, with the events that its handler dispatched. */
export async function deferCall(
  run: Run,
  call: CallState,
  tool: AnyTool,
  how: { readonly attempt: number; readonly suspended: SuspendedCall; readonly staged: readonly NewEvent[] },
): Promise<CallResult> {
  const { attempt, suspended, staged } = how;
  const failed = (why: string): CallResult => ({ type: 'done', outcome: failure(why), staged: [] });
  if (tool.effect === 'once' && !suspended.hasResult) {
    return failed(
      `"${tool.name}" returned suspendUntil without a result, and a once tool does not run again: declare effect: 'read' or 'idempotent', or give a result`,
    );
  }
  const { evaluationId, turn, callId } = call;
  const until = new Date(Math.max(suspended.until, run.session.clock.now() + SHORTEST_MS)).toISOString();
  const { content, isError } = resultOf(suspended.result, tool.name);
  const event: Without<ToolDeferred, 'seq' | 'at'> = {
    type: 'tool/deferred',
    evaluationId,
    turn,
    callId,
    toolName: tool.name,
    effect: tool.effect,
    attempt,
    until,
    ...(suspended.hasResult && { outcome: { content, isError } }),
  };
  try {
    await record(run, [...staged, event], { guard: unlessOvertaken(run.fence, call), untilStored: true });
  } catch (error) {
    if (!isRefusedEvent(error)) throw error;
    return failed(`"${tool.name}" ran, but its timer was refused: ${describeError(error)}`);
  }
  return waitsForTime(call, until);
}

/** Whether the time of a call that waits for one has come. */
export function isDue(run: Run, until: string): boolean {
  return Date.parse(until) <= run.session.clock.now();
}

export function waitsForTime({ name }: CallState, until: string): CallResult {
  return {
    type: 'waits',
    reason: 'TIMER_PENDING',
    message: `"${name}" waits until ${until}; a worker or the next run continues it then`,
    until,
  };
}
