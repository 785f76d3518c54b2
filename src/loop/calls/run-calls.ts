import { type CallState, findCall, hasResult } from '../../core/fold/evaluations.ts';
import type { NewEvent, ToolStarted, UnreconciledCall, Without } from '../../core/log/events.ts';
import { type CallRef, callKey } from '../../core/log/messages.ts';
import { type PlannedCall, planCall } from '../../core/plan/resume-plan.ts';
import { earliestTime } from '../../core/summary/approval-deadlines.ts';
import type { AppendGuard } from '../../session/append/append-queue.ts';
import { describeError, failure } from '../define/tool-result.ts';
import { currentEvaluation, ENVELOPE, isRefusedEvent, type Run, record, toolMessage } from '../evaluate/run.ts';
import { Suspension } from '../evaluate/suspension.ts';
import { PlanChanged, unlessOvertaken, whilePlanHolds } from './call-guards.ts';
import { prepareRecorded } from './prepare-call.ts';
import { type CallResult, runCall, startEvent } from './run-call.ts';

/**
 * Runs the calls of a turn concurrently. Each result is recorded when its call ends (D22); results that are ready together share a
 * commit. Calls that wait for a person suspend the evaluation when every other call has finished (D18).
 */
export async function runCalls(run: Run, calls: readonly PlannedCall[]): Promise<void> {
  const { maxParallelCalls = calls.length } = run.options;
  const waiting: { readonly planned: PlannedCall; readonly result: Waits }[] = [];
  const queue = [...calls];
  let sequence = currentEvaluation(run).nextSequence;
  let running = 0;

  /** Records an outcome, and with it that the next call begins. */
  const recordOutcome = (
    planned: PlannedCall,
    { outcome, staged }: Pick<Done, 'outcome' | 'staged'>,
    start: Start | undefined,
    endsDrafts: readonly string[] | undefined,
  ): Promise<void> => {
    const message = toolMessage(run, planned.call, outcome, sequence++);
    const result = { type: 'message/recorded', message } as const;
    const recorded: readonly Without<NewEvent, 'at'>[] = start ? [...staged, result, start.event] : [...staged, result];
    const { characters } = outcome;
    const plain = characters !== undefined && staged.length === 0 ? characters + ENVELOPE : undefined;
    const discarded = outcome.isError ? staged.length : 0;
    const overtaken = unlessOvertaken(run.fence, planned.call);
    const guard: AppendGuard = (state) => {
      overtaken(state);
      start?.guard(state);
    };
    // A result that this process knows must not become unknown because a store is busy or full for a moment.
    const syncLater = !start && staged.length === 0 && mayRunAgain(run, planned.call) && ({ syncLater: true } as const);
    const options = { now: running === 0, plain, discarded, guard, untilStored: true, ...syncLater };
    return record(run, recorded, endsDrafts ? { ...options, endsDrafts } : options);
  };
  const settle = async (planned: PlannedCall, done: Done, start: Start | undefined): Promise<void> => {
    const ending = run.callDrafts.end(planned.call);
    const endsDrafts = ending && (await ending);
    try {
      await recordOutcome(planned, done, start, endsDrafts);
      start?.recorded();
    } catch (error) {
      // A person may have decided about the next call: then it does not start with this result.
      if (start && error instanceof PlanChanged) return settle(planned, done, undefined);
      // The result or the dispatched events cannot be recorded: the model receives a failed result, and the run continues (D20).
      if (!isRefusedEvent(error)) throw error;
      const { name } = planned.call;
      const outcome = failure(`"${name}" ran, but its result was refused: ${describeError(error)}`);
      await recordOutcome(planned, { outcome, staged: [] }, undefined, endsDrafts);
    }
    run.callDrafts.forget(planned.call);
  };
  const counted = async (planned: PlannedCall): Promise<CallResult> => {
    running++;
    try {
      return await runCall(run, planned);
    } finally {
      running--;
    }
  };
  /** Runs calls by their newest plan, again when the log has changed it by then. */
  const work = async (): Promise<void> => {
    let next = queue.shift();
    while (next) {
      const { call } = next;
      next = undefined;
      for (let planned = newestPlan(run, call); planned; ) {
        try {
          const result = await counted(planned);
          if (result.type === 'waits') waiting.push({ planned, result });
          else {
            next ??= queue.shift();
            await settle(planned, result, next && startOf(run, next));
          }
          planned = undefined;
        } catch (error) {
          if (!(error instanceof PlanChanged)) throw error;
          planned = newestPlan(run, call);
          if (!planned) await dropProgress(run, call); // its message was erased while it ran
        }
      }
      next ??= queue.shift();
    }
  };

  const workers = Array.from({ length: Math.min(maxParallelCalls, calls.length) }, work);
  const ended = await Promise.allSettled(workers);
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  const inOrder = ({ planned }: (typeof waiting)[number]): number =>
    calls.findIndex(({ call }) => callKey(call) === callKey(planned.call));
  waiting.sort((a, b) => inOrder(a) - inOrder(b));
  const first =
    waiting.find(({ result }) => result.reason === 'TOOL_OUTCOME_UNKNOWN') ??
    waiting.find(({ result }) => result.reason !== 'TIMER_PENDING') ??
    waiting[0];
  if (!first || (await hasDecision(run, waiting))) return;
  const ofPerson = waiting.filter(({ result }) => !isTimer(result));
  const pending = ofPerson.flatMap(({ planned: { call }, result }) => result.pending ?? [pendingRef(run, call)]);
  const unreconciled = ofPerson.flatMap(({ planned: { call }, result }) => unreconciledCall(run, call, result));
  const timed = waiting.filter(({ result }) => isTimer(result)).map(({ planned: { call } }) => pendingRef(run, call));
  const until = earliestTime(waiting.flatMap(({ result }) => result.until ?? []));
  const { reason, message, limit } = first.result;
  throw new Suspension(reason, message, { pending, timed, until, limit, unreconciled });
}

/** Whether a call itself waits for a time, and not a child conversation of it. */
function isTimer({ reason, pending }: Waits): boolean {
  return reason === 'TIMER_PENDING' && pending === undefined;
}

/** Whether a resume would run the call again if its result was lost, without a person's decision (D18). */
function mayRunAgain({ prompt }: Run, { name, effect }: CallState): boolean {
  return effect !== 'once' && prompt.tools.find((tool) => tool.name === name)?.effect !== 'once';
}

/** The call ended without a result of this run: the next append ends its draft. */
async function dropProgress(run: Run, call: CallRef): Promise<void> {
  for (const draftId of (await run.callDrafts.end(call)) ?? []) run.staleDrafts.add(draftId);
  run.callDrafts.forget(call);
}

/** The start of a call that is recorded with the result before it. */
interface Start {
  readonly event: Without<ToolStarted, 'seq' | 'at'>;
  readonly guard: AppendGuard;
  /** The start is in the log: the call is prepared and has not run yet. */
  recorded(): void;
}

/**
 * The start of the next call, so that a program that saves the session on each message saves it, too. Undefined when the call needs a
 * decision first: a finished result must not wait.
 */
function startOf(run: Run, { call: { evaluationId, turn, callId } }: PlannedCall): Start | undefined {
  const planned = newestPlan(run, { evaluationId, turn, callId });
  if (planned?.action !== 'run' || planned.call.erased || run.aborter.signal.aborted) return undefined;
  const prepared = prepareRecorded(run, planned.call);
  if (prepared instanceof Promise || !prepared.ok || prepared.tool.effect === 'read') return undefined;
  if (prepared.tool.needsApproval && planned.call.approval !== 'approved') return undefined;
  return {
    event: startEvent(run, planned.call, prepared.tool, 1),
    guard: whilePlanHolds(planned.call),
    recorded: () => run.startedHere.set(callKey(planned.call), prepared),
  };
}

/** A call that waits for a person, as the log has it now: with the number of its newest run. */
export function pendingRef(run: Run, call: CallRef): CallRef {
  const { evaluationId, turn, callId } = call;
  const { attempt = 0 } = findCall(run.session.state.record.evaluations, call) ?? {};
  return { evaluationId, turn, callId, attempt };
}

/** The same, with why `reconcile` could not find out whether it happened; none if it was not for `reconcile` to find out. */
export function unreconciledCall(run: Run, call: CallRef, { reconcile }: Waits): readonly UnreconciledCall[] {
  return reconcile ? [{ ...pendingRef(run, call), ...reconcile }] : [];
}

/** The plan for a call by the newest log; undefined when it has its result. A person may have decided meanwhile. */
function newestPlan(run: Run, call: CallRef): PlannedCall | undefined {
  const now = findCall(run.session.state.record.evaluations, call);
  return now && !hasResult(now) ? planCall(now) : undefined;
}

/** Whether a person has decided about one of these calls since it began to wait: then there is more to do. */
async function hasDecision(
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
type Done = Extract<CallResult, { readonly type: 'done' }>;
