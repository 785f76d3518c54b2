import type { CallState } from '../../core/fold/evaluations.ts';
import type {
  NewEvent,
  ReachedLimit,
  SuspendReason,
  ToolStarted,
  UnknownReconcile,
  Without,
} from '../../core/log/events.ts';
import { type CallRef, callKey } from '../../core/log/messages.ts';
import type { PlannedCall } from '../../core/plan/resume-plan.ts';
import { isEdited } from '../../session/people/call-arguments.ts';
import type { AnyTool, Reconciliation, ToolContext } from '../define/define-tool.ts';
import { SuspendedCall } from '../define/suspend-until.ts';
import { describeError, failure, resultOf, settledOutcome, type ToolOutcome } from '../define/tool-result.ts';
import { confirmLease, type Run, record } from '../evaluate/run.ts';
import { pause } from '../request/pause.ts';
import { whilePlanHolds } from './call-guards.ts';
import { deferCall, isDue, waitsForTime } from './defer-call.ts';
import { type Prepared, prepareRecorded } from './prepare-call.ts';
import { awaitApproval, returnApproval } from './request-approval.ts';
import { CallScope, ChildSuspended, type HowRun, TimedOut } from './tool-context.ts';

/** The end of a call: an outcome to record with the events that the tool dispatched, or a wait for a person's decision. */
export type CallResult =
  | {
      readonly type: 'done';
      readonly outcome: ToolOutcome;
      readonly staged: readonly NewEvent[];
      /** The call cannot run, even if it was approved. */
      readonly neverRan?: true;
    }
  | {
      readonly type: 'waits';
      readonly reason: SuspendReason;
      readonly message: string;
      /** Which calls wait, when it is not this one: those of a child conversation, or none. */
      readonly pending?: readonly CallRef[];
      /** Why the outcome of this call is unknown although its tool has a `reconcile`. */
      readonly reconcile?: UnknownReconcile;
      /** ISO time at which the call continues by itself (D78). */
      readonly until?: string;
      /** The limit that a child conversation reached. */
      readonly limit?: ReachedLimit;
    };

/**
 * Runs one call by its plan. Throws `PlanChanged`, and has done nothing, when the log has changed the plan of the call
 * meanwhile.
 */
export function runCall(run: Run, planned: PlannedCall): Promise<CallResult> {
  const { call, action } = planned;
  const carried = carryOut(run, planned);
  return isEdited(call) && action !== 'deny'
    ? carried.then((result) => withEditNote(result, call.editedArguments))
    : carried;
}

/** A result that names the arguments with which the call ran (D67), unless they are stored outside the log (D77). */
function withEditNote(result: CallResult, edited: string | undefined): CallResult {
  if (result.type === 'waits' || result.neverRan) return result;
  const { outcome } = result;
  const ranWith = edited === undefined ? 'The new ones are not shown here.' : `It ran with: ${edited}`;
  const text = `\n\nA person changed the arguments of this call before it ran. ${ranWith}`;
  const { characters } = outcome;
  const noted: ToolOutcome = {
    ...outcome,
    content: [...outcome.content, { type: 'text', text, synthetic: true }],
    ...(characters !== undefined && { characters: characters + text.length }),
  };
  return { ...result, outcome: noted };
}

async function carryOut(run: Run, planned: PlannedCall): Promise<CallResult> {
  const { call } = planned;
  const { settlement } = call;
  if (planned.action === 'settle' && settlement && !('rerun' in settlement)) {
    return done(settledOutcome(settlement, call.name));
  }
  if (planned.action === 'deny') {
    return done(failure(call.deniedBecause ? `This call was denied: ${call.deniedBecause}` : 'This call was denied.'));
  }
  if (call.erased) {
    return cannotRun(planned, 'its arguments were erased');
  }
  if (planned.action === 'defer' && call.deferred) {
    const { until, outcome } = call.deferred;
    if (!isDue(run, until)) return waitsForTime(call, until);
    if (outcome) return done(outcome);
  }
  // A start that this process recorded: the call is prepared and has not run yet.
  const startedHere = run.startedHere.get(callKey(call));
  const preparing = startedHere ?? prepareRecorded(run, call);
  const prepared = preparing instanceof Promise ? await preparing : preparing;
  run.aborter.check(); // whatever has not begun by now does not begin any more
  if (!prepared.ok && prepared.isMissing) return cannotRun(planned, prepared.problem);
  if (!prepared.ok && planned.action === 'run' && isEdited(call)) {
    await returnApproval(run, call, prepared.problem);
    return waitsForApproval(call, prepared.problem);
  }
  if (!prepared.ok) {
    return planned.action === 'reconcile'
      ? unknownOutcome(call, { status: 'not-called', problem: prepared.problem })
      : done(failure(prepared.problem));
  }
  if (startedHere) return execute(run, call, prepared, FIRST_RUN);
  if (planned.action === 'run') return firstRun(run, call, prepared);
  if (planned.action === 'reconcile') return reconcile(run, call, prepared);
  if (planned.action === 'defer') return lookAgain(run, call, prepared);
  return runAgain(run, call, prepared);
}

/** A call that must not run any more: failed if it never began, else its outcome is for a person to find out. */
function cannotRun({ action, call }: PlannedCall, problem: string): CallResult {
  if (action === 'run') return { ...done(failure(`This call never ran: ${problem}.`)), neverRan: true };
  if (action === 'defer') return done(failure(`This call was not continued: ${problem}.`)); // its run ended by itself
  return unknownOutcome(call, { status: 'not-called', problem }, { rerun: false });
}

const FIRST_RUN: HowRun = { attempt: 1, isResume: false };

async function firstRun(run: Run, call: CallState, prepared: Prepared): Promise<CallResult> {
  const approval = call.approval === 'approved' ? undefined : await prepared.needsApproval();
  if (approval) {
    await awaitApproval(run, call, approval);
    return waitsForApproval(call);
  }
  await recordStart(run, call, prepared, FIRST_RUN.attempt);
  return execute(run, call, prepared, FIRST_RUN);
}

function waitsForApproval(call: CallState, problem?: string): CallResult {
  const why = problem === undefined ? '' : ` (its edited arguments cannot be used: ${problem})`;
  return {
    type: 'waits',
    reason: 'APPROVAL_REQUIRED',
    message: `"${call.name}" needs approval${why}: session.approve or session.deny, then run again`,
  };
}

/** Runs the handler of a call whose time has come. The run before it ended by itself: there is nothing to undo, and this is no resume (D19). */
async function lookAgain(run: Run, call: CallState, prepared: Prepared): Promise<CallResult> {
  const how = { attempt: call.attempt + 1, isResume: false };
  await recordStart(run, call, prepared, how.attempt);
  return execute(run, call, prepared, how);
}

/** Runs a call that was started before. What `compensate` dispatches is recorded with the result of the run after it. */
async function runAgain(run: Run, call: CallState, prepared: Prepared): Promise<CallResult> {
  const how = { attempt: call.attempt + 1, isResume: true };
  await recordStart(run, call, prepared, how.attempt);
  const { compensate, timeoutMs } = prepared.tool;
  if (!compensate) return execute(run, call, prepared, how);
  const undoing = { ...how, timeoutMs, step: 'compensate' as const };
  const undone = await inTransaction(run, call, undoing, async (context) =>
    compensate(await prepared.freshInput(), context),
  );
  if (!undone.ok) return fromError(undone.error, undone.staged);
  const result = await execute(run, call, prepared, how);
  return result.type === 'done' ? { ...result, staged: [...undone.staged, ...result.staged] } : result;
}

/** A `once` call that began elsewhere: calls `reconcile`, and waits for a person when the outcome stays unknown (D18). */
async function reconcile(run: Run, call: CallState, prepared: Prepared): Promise<CallResult> {
  const found = await askReconcile(run, call, prepared, { attempt: call.attempt, isResume: true });
  if (!found || 'unknown' in found) return unknownOutcome(call, found?.unknown);
  return found.happened ? foundOut(call, found) : runAgain(run, call, prepared);
}

type Found = Exclude<Reconciliation<unknown>, { readonly happened: 'unknown' }> & {
  readonly staged: readonly NewEvent[];
};

async function askReconcile(
  run: Run,
  call: CallState,
  { tool, freshInput }: Prepared,
  how: HowRun,
): Promise<Found | { readonly unknown: UnknownReconcile } | undefined> {
  const { reconcile: ask, timeoutMs } = tool;
  if (!ask) return undefined;
  const asking = { ...how, timeoutMs, step: 'reconcile' as const };
  const asked = await inTransaction(run, call, asking, async (context) => ask(await freshInput(), context));
  // A `reconcile` that throws or returns anything else leaves the outcome unknown.
  if (!asked.ok) return { unknown: { status: 'failed', problem: describeError(asked.error) } };
  if (typeof asked.value?.happened !== 'boolean') return { unknown: { status: 'undecided' } };
  return { ...asked.value, staged: asked.staged };
}

/** A call that happened although its result was lost: its dispatched events are lost, too, unless `reconcile` dispatches them again. */
function foundOut(call: CallState, found: Extract<Found, { readonly happened: true }>): CallResult {
  return { type: 'done', outcome: resultOf(found.result, call.name), staged: found.staged };
}

function unknownOutcome(call: CallState, reconcile?: UnknownReconcile, { rerun = true } = {}): CallResult {
  const why = reconcile === undefined ? '' : `, and ${reconcileSentence(reconcile)}`;
  return {
    type: 'waits',
    reason: 'TOOL_OUTCOME_UNKNOWN',
    message: `"${call.name}" was started and may have happened${why}: find out, then session.settle with its result${rerun ? ' or { rerun: true }' : ''}, then run again`,
    ...(reconcile && { reconcile }),
  };
}

function reconcileSentence({ status, problem }: UnknownReconcile): string {
  if (status === 'failed') return `reconcile failed: ${problem}`;
  return status === 'not-called' ? `reconcile cannot be called (${problem})` : 'reconcile could not find out';
}

const RETRY_WAIT_MS = 100;

/**
 * Runs a handler, again after a throw where the tool allows it; each try in a transaction of its own. A failed try
 * leaves nothing: after a crash between two tries no process would know of it.
 */
async function execute(run: Run, call: CallState, prepared: Prepared, how: HowRun): Promise<CallResult> {
  const { tool } = prepared;
  let { input } = prepared;
  const retries = tool.effect === 'once' ? 0 : tool.retries;
  for (let failures = 0; ; failures++) {
    const { timeoutMs } = tool;
    const tried = await inTransaction(run, call, { ...how, timeoutMs }, (context) => tool.execute(input, context));
    const { staged } = tried;
    if (tried.ok && tried.value instanceof SuspendedCall) {
      return deferCall(run, call, tool, { attempt: how.attempt, suspended: tried.value, staged });
    }
    if (tried.ok) return { type: 'done', outcome: resultOf(tried.value, tool.name), staged };
    if (tried.error instanceof TimedOut && tool.effect === 'once') {
      // It may have happened (D20).
      const found = await askReconcile(run, call, prepared, how);
      if (!found || 'unknown' in found) return unknownOutcome(call, found?.unknown);
      return found.happened ? foundOut(call, found) : fromError(tried.error, staged);
    }
    if (tried.error instanceof ChildSuspended || failures >= retries) return fromError(tried.error, staged);
    await pause(run.session.clock, RETRY_WAIT_MS * 2 ** failures * (0.5 + run.random() / 2), run.aborter.signal);
    input = await prepared.freshInput();
  }
}

type Ended<T> =
  | { readonly ok: true; readonly value: T; readonly staged: readonly NewEvent[] }
  | { readonly ok: false; readonly error: unknown; readonly staged: readonly NewEvent[] };

/** Runs one of a tool's functions in a transaction, which ends whatever the function does. Throws only what stops the run. */
async function inTransaction<T>(
  run: Run,
  call: CallState,
  how: HowRun,
  handler: (context: ToolContext) => T | Promise<T>,
): Promise<Ended<T>> {
  const late = confirmLease(run);
  if (late) await late;
  run.startedHere.delete(callKey(call)); // from here on it may have happened
  const scope = new CallScope(run, call, how);
  let waits = false;
  try {
    return { ok: true, value: await scope.run(handler), staged: scope.close() };
  } catch (error) {
    run.aborter.check();
    waits = error instanceof ChildSuspended;
    return { ok: false, error, staged: scope.close() };
  } finally {
    const ending = scope.end({ waits });
    if (ending) await ending;
  }
}

function fromError(error: unknown, staged: readonly NewEvent[]): CallResult {
  if (error instanceof ChildSuspended)
    return {
      type: 'waits',
      reason: error.reason,
      message: error.message,
      pending: error.pending,
      ...(error.until !== undefined && { until: error.until }),
      ...(error.limit && { limit: error.limit }),
    };
  return { type: 'done', outcome: failure(describeError(error)), staged };
}

function done(outcome: ToolOutcome): Extract<CallResult, { readonly type: 'done' }> {
  return { type: 'done', outcome, staged: [] };
}

/** Records that a call is about to act, before it does (D9). Reading needs no trace. */
async function recordStart(run: Run, call: CallState, prepared: Prepared, attempt: number): Promise<void> {
  const { tool } = prepared;
  if (tool.effect === 'read') return;
  await record(run, [startEvent(run, call, tool, attempt)], { guard: whilePlanHolds(call) });
  run.startedHere.set(callKey(call), prepared);
}

/** The event that records that a call is about to act. */
export function startEvent(
  { fence, evaluationId }: Run,
  { turn, callId, name: toolName }: Pick<CallState, 'turn' | 'callId' | 'name'>,
  { effect }: AnyTool,
  attempt: number,
): Without<ToolStarted, 'seq' | 'at'> {
  return { type: 'tool/started', evaluationId, turn, callId, toolName, effect, attempt, fence };
}
