import { isHoldfastError, messageOf } from '../core/errors.ts';
import type { CallState } from '../core/evaluations.ts';
import type { NewEvent, SuspendReason } from '../core/events.ts';
import type { CallRef } from '../core/messages.ts';
import type { PlannedCall } from '../core/resume-plan.ts';
import type { StagedSession } from '../session/staged-session.ts';
import type { AnyTool, Reconciliation, ToolContext } from './define-tool.ts';
import { pause, Suspension, untilAborted } from './limits.ts';
import { type PreparedCall, prepareCall } from './prepare-call.ts';
import { type Run, record, takeStartedHere } from './run.ts';
import { ChildSuspended, toolContext } from './tool-context.ts';
import { failure, resultOf, type ToolOutcome } from './tool-result.ts';

/** What came of a call: an outcome to record with what the tool dispatched, or nothing before a person has spoken. */
export type CallResult =
  | { readonly type: 'done'; readonly outcome: ToolOutcome; readonly staged: readonly NewEvent[] }
  | {
      readonly type: 'waits';
      readonly reason: SuspendReason;
      readonly message: string;
      readonly pending?: readonly CallRef[];
    };

type Prepared = Extract<PreparedCall, { readonly ok: true }>;

/** Carries out one call as the plan demands. */
export async function runCall(run: Run, planned: PlannedCall): Promise<CallResult> {
  const { call } = planned;
  const { settlement } = call;
  if (planned.action === 'settle' && settlement && !('rerun' in settlement)) {
    return done(settlement.isError ? { ...resultOf(settlement.result), isError: true } : resultOf(settlement.result));
  }
  if (planned.action === 'deny') {
    return done(failure(call.deniedBecause ? `This call was denied: ${call.deniedBecause}` : 'This call was denied.'));
  }
  const prepared = await prepareCall(run.prompt, call);
  if (!prepared.ok) return done(failure(prepared.problem));

  // A start that this process recorded together with the answer: the call has not run yet.
  const startedHere = takeStartedHere(run, call);
  if (planned.action === 'run' || startedHere) return firstRun(run, call, prepared, startedHere);
  if (planned.action === 'reconcile') return reconcile(run, call, prepared);
  return runAgain(run, call, prepared);
}

async function firstRun(run: Run, call: CallState, prepared: Prepared, started: boolean): Promise<CallResult> {
  const approved = call.approval === 'approved' || started;
  if (!approved && (await prepared.needsApproval())) {
    return {
      type: 'waits',
      reason: 'APPROVAL_REQUIRED',
      message: `"${call.name}" needs approval: approveToolCall or denyToolCall, then resume`,
    };
  }
  if (!started) await recordStart(run, call, prepared.tool, 1);
  return execute(run, call, prepared, { attempt: 1, isResume: false });
}

async function runAgain(run: Run, call: CallState, prepared: Prepared): Promise<CallResult> {
  const how = { attempt: call.attempt + 1, isResume: true };
  await recordStart(run, call, prepared.tool, how.attempt);
  const { compensate } = prepared.tool;
  if (compensate) {
    const undone = await inTransaction(run, call, how, async (context, staged) => {
      await untilAborted(Promise.resolve(compensate(prepared.input, context)), run.limits.signal);
      return { type: 'done', outcome: resultOf(undefined), staged: staged.close() };
    });
    if (undone.type === 'done' && undone.outcome.isError) return undone;
  }
  return execute(run, call, prepared, how);
}

/** A `once` call that began elsewhere: asks whether it happened, and if nobody can tell, waits for a person (D18). */
async function reconcile(run: Run, call: CallState, prepared: Prepared): Promise<CallResult> {
  const found = await askReconcile(run, call, prepared, { attempt: call.attempt, isResume: true });
  if (!found) return unknownOutcome(call);
  return found.happened ? done(resultOf(found.result)) : runAgain(run, call, prepared);
}

async function askReconcile(
  run: Run,
  call: CallState,
  { tool, input }: Prepared,
  how: HowOften,
): Promise<Exclude<Reconciliation<unknown>, { readonly happened: 'unknown' }> | undefined> {
  if (!tool.reconcile) return undefined;
  const staged = run.session.stage();
  try {
    const context = toolContext(run, call, { ...how, session: staged, signal: run.limits.signal });
    const found = await untilAborted(Promise.resolve(tool.reconcile(input, context)), run.limits.signal);
    return found && found.happened !== 'unknown' ? found : undefined;
  } catch {
    run.limits.check();
    return undefined; // whoever cannot say what happened does not know
  } finally {
    staged.close();
  }
}

function unknownOutcome(call: CallState): CallResult {
  return {
    type: 'waits',
    reason: 'TOOL_OUTCOME_UNKNOWN',
    message: `"${call.name}" was started and may have happened: find out, then settleToolCall with its result or { rerun: true }, and resume`,
  };
}

interface HowOften {
  readonly attempt: number;
  readonly isResume: boolean;
}

const RETRY_WAIT_MS = 100;

/** Runs a handler, again after a failure where the tool allows it; each try in a transaction of its own. */
async function execute(run: Run, call: CallState, prepared: Prepared, how: HowOften): Promise<CallResult> {
  const { tool, input } = prepared;
  const retries = tool.effect === 'once' ? 0 : tool.retries;
  for (let failures = 0; ; failures++) {
    let timedOut: TimedOut | undefined;
    const result = await inTransaction(run, call, how, async (context, staged) => {
      try {
        const value = await runHandler(run, tool, input, context);
        return { type: 'done', outcome: resultOf(value), staged: staged.close() };
      } catch (error) {
        if (error instanceof TimedOut) timedOut = error;
        throw error;
      }
    });
    if (timedOut && tool.effect === 'once') return afterTimeout(run, call, prepared, how, timedOut);
    if (result.type !== 'done' || !result.outcome.isError || failures >= retries) return result;
    await pause(run.session.clock, RETRY_WAIT_MS * 2 ** failures * (0.5 + run.random() / 2), run.limits.signal);
  }
}

/** Gives `body` a context with a transaction, which ends whatever `body` does. A throw is a failed result. */
async function inTransaction(
  run: Run,
  call: CallState,
  how: HowOften,
  body: (context: ToolContext, staged: StagedSession) => Promise<CallResult>,
): Promise<CallResult> {
  const staged = run.session.stage();
  try {
    return await body(toolContext(run, call, { ...how, session: staged, signal: run.limits.signal }), staged);
  } catch (error) {
    run.limits.check();
    return fromError(error, staged);
  } finally {
    staged.close();
  }
}

class TimedOut extends Error {}

/** One run of a handler. A handler that ignores its signal is left behind: its transaction is closed, its result unread. */
async function runHandler(run: Run, tool: AnyTool, input: unknown, context: ToolContext): Promise<unknown> {
  const { timeoutMs } = tool;
  if (timeoutMs === undefined) {
    return untilAborted(
      Promise.resolve().then(() => tool.execute(input, context)),
      run.limits.signal,
    );
  }
  const controller = new AbortController();
  const signal = AbortSignal.any([run.limits.signal, controller.signal]);
  const cancel = run.session.clock.after(timeoutMs, () =>
    controller.abort(new TimedOut(`"${tool.name}" did not answer within ${timeoutMs} ms`)),
  );
  try {
    return await untilAborted(
      Promise.resolve().then(() => tool.execute(input, { ...context, signal })),
      signal,
    );
  } finally {
    cancel();
  }
}

/** A `once` tool that timed out may have happened (D20). */
async function afterTimeout(
  run: Run,
  call: CallState,
  prepared: Prepared,
  how: HowOften,
  error: TimedOut,
): Promise<CallResult> {
  const found = await askReconcile(run, call, prepared, how);
  if (!found) return unknownOutcome(call);
  return done(found.happened ? resultOf(found.result) : failure(error.message));
}

function fromError(error: unknown, staged: StagedSession): CallResult {
  if (error instanceof ChildSuspended)
    return { type: 'waits', reason: error.reason, message: error.message, pending: error.pending };
  if (error instanceof Suspension || isHoldfastError(error, 'SESSION_CONFLICT')) throw error;
  return { type: 'done', outcome: failure(messageOf(error)), staged: staged.close() };
}

function done(outcome: ToolOutcome): CallResult {
  return { type: 'done', outcome, staged: [] };
}

/** Records that a call is about to act, before it does (D9). Reading needs no trace. */
async function recordStart(run: Run, call: CallState, tool: AnyTool, attempt: number): Promise<void> {
  if (tool.effect === 'read') return;
  const { evaluationId, turn, callId, name } = call;
  await record(run, [
    { type: 'tool/started', evaluationId, turn, callId, toolName: name, effect: tool.effect, attempt },
  ]);
}
