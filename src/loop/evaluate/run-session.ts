import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import type { Evaluation } from '../../core/fold/evaluations.ts';
import type { SessionState } from '../../core/fold/fold.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import { agentName } from '../../core/log/agent-name.ts';
import type { SuspendReason } from '../../core/log/events.ts';
import type { UserMessage } from '../../core/log/messages.ts';
import type { PromptIdentity } from '../../core/log/prompt-identity.ts';
import { agentOfStep, inputOutcome } from '../../core/plan/input-outcome.ts';
import { CALL_REASONS, newestRunnable, planRun, type RunStep } from '../../core/plan/run-plan.ts';
import type { Lease } from '../../ports/store.ts';
import { refuseImported } from '../../session/change/imported.ts';
import { type HeldLease, holdLease } from '../../session/lease.ts';
import type { AnySession } from '../../session/session.ts';
import { PlanChanged } from '../calls/call-guards.ts';
import type { Prompt } from '../define/define-prompt.ts';
import { cancelled } from './cancel-watch.ts';
import { checkOptions, EVALUATE_OPTIONS } from './check-options.ts';
import type { Hold } from './evaluate.ts';
import { waitOf } from './evaluate-in-session.ts';
import { isInsideEvaluation } from './inside-evaluation.ts';
import type { EvaluationResponse, RunOptions, RunResult } from './provider-adapter.ts';
import { respond } from './respond.ts';
import type { LoopSettings } from './run.ts';

/**
 * Does what a session has left, under one lease (D61). Nothing that is appended while it runs is missed:
 *
 *     plan ──▶ resume or begin ──▶ plan again …
 *       └────▶ it waits, or nothing is left ──▶ release the lease, naming the seq that was planned with
 *                                                  └──▶ refused, something was appended since: plan again
 */
export async function runSession<Output>(
  settings: LoopSettings,
  prompt: Prompt<Output>,
  given: RunOptions,
): Promise<RunResult<Output>> {
  const run = newSessionRun(given);
  refuseImported(run.session);
  const lease = await takeLease(settings, run);
  if ('inTheWay' in lease) return { status: 'busy', responses: [], lease: lease.inTheWay };
  const { session } = run;
  try {
    await session.refresh(); // the previous holder may have written
    for (;;) {
      const { seq } = session;
      const step = nextStep(run, session.state);
      const hasWork = step.do === 'resume' || step.do === 'begin';
      const isLeft = hasWork && (hasResponse(run, step) || !isOwn(prompt, run, step));
      if (hasWork && !isLeft && !isOver(run)) {
        await act({ settings, session, lease }, prompt as Prompt<unknown>, run, step);
        continue;
      }
      if (isLeft) return { status: 'left', responses: run.responses as EvaluationResponse<Output>[] };
      const result = await resultOf(run, step);
      if (isOver(run) || (await lease.release({ seq }))) return result as RunResult<Output>;
      await session.refresh();
    }
  } finally {
    await lease.release();
  }
}

/** One call of `run`. */
interface SessionRun {
  readonly session: AnySession;
  readonly options: Omit<RunOptions, 'session' | 'until' | 'agent' | 'resumeCancelled'>;
  readonly until: string | undefined;
  readonly agent: string | undefined;
  readonly resumeCancelled: boolean;
  /** Evaluations that it has run: a suspended one is resumed once, unless something has happened since. */
  readonly tried: Set<string>;
  readonly responses: EvaluationResponse<unknown>[];
}

const {
  session: _,
  input: __,
  resume: ___,
  evaluationId: ____,
  key: _____,
  continues: ______,
  ...SHARED
} = EVALUATE_OPTIONS;

/** The options of `run` beside the session. */
export const RUN_OPTIONS: KnownOptions<Omit<RunOptions, 'session'>> = {
  ...SHARED,
  until: true,
  agent: true,
  resumeCancelled: true,
};

/** Throws `INVALID_ARGUMENT` for options that a run does not take. */
export function newSessionRun(given: RunOptions): SessionRun {
  if (!given?.session) throw new HoldfastError('INVALID_ARGUMENT', 'run needs a session: openSession makes one');
  refuseUnknownOptions('run', given, { ...RUN_OPTIONS, session: true });
  const { session, until, agent, resumeCancelled = false, ...options } = given;
  checkOptions(options);
  return { session, options, until, agent, resumeCancelled, tried: new Set(), responses: [] };
}

/** Whether the input that the caller waits for has its response: nothing that a runner would do next changes it. */
function hasResponse({ session, until }: SessionRun, step: RunStep): boolean {
  return until !== undefined && inputOutcome(session.state, until, step)?.isFinal === true;
}

/**
 * Whether a step is this run's: that of an agent leaves those of other agents. A run without one begins with inputs that name no agent,
 * and resumes every evaluation: one of another prompt is `PROMPT_MISMATCH`.
 */
function isOwn(prompt: PromptIdentity, { session, agent }: SessionRun, step: RunStep): boolean {
  if (agent !== undefined) return (agentOfStep(session.state, step) ?? agent) === agent;
  return step.do !== 'begin' || step.input.agent === undefined || step.input.agent === agentName(prompt);
}

/**
 * Takes the lease; another `run` is in the way, an `evaluate` is waited for unless `wait` says otherwise, or that one waits for this very
 * call.
 */
async function takeLease(
  { leaseTtlMs, maxBlockedMs }: LoopSettings,
  run: SessionRun,
): Promise<HeldLease | { readonly inTheWay: Lease }> {
  const { session, options } = run;
  const { clock } = session;
  const { deadline, wait = false } = options;
  const isInside = isInsideEvaluation(session);
  const most = (given: boolean | number): number =>
    isInside ? 0 : waitOf({ wait: given, ...(deadline !== undefined && { deadline }) }, clock.now());
  const following = follow(run);
  try {
    return await holdLease(session.store, session.id, {
      clock,
      ttlMs: leaseTtlMs,
      maxBlockedMs,
      runs: true,
      waitMs: most(wait),
      waitForEvaluateMs: most(options.wait ?? true),
      signal: following.signal,
      onWait: following.start,
    });
  } catch (error) {
    if (!isHoldfastError(error, 'SESSION_BUSY')) throw error;
    return { inTheWay: error.data as Lease };
  } finally {
    following.stop();
  }
}

/** Ends the wait for the lease when the process that holds it has responded to the input. Follows that process once it has to wait. */
function follow(run: SessionRun): {
  readonly signal: AbortSignal;
  readonly start: () => void;
  readonly stop: () => void;
} {
  const { session, until, options } = run;
  const responded = new AbortController();
  const look = (): void => {
    if (hasResponse(run, nextStep(run, session.state))) responded.abort();
  };
  let stop: (() => void) | undefined;
  return {
    signal: AbortSignal.any([responded.signal, ...(options.signal ? [options.signal] : [])]),
    start: () => {
      if (stop || until === undefined) return;
      stop = session.subscribe(look);
      // What was committed before is not announced, and may have been read already; later commits are announced.
      session.refresh().then(look, () => {});
    },
    stop: () => stop?.(),
  };
}

/** Whether nothing more may be begun: the caller does not want it any more, or its time is up. */
function isOver({ session, options: { signal, deadline } }: SessionRun): boolean {
  return signal?.aborted === true || (deadline !== undefined && Number(deadline) <= session.clock.now());
}

function nextStep({ session, resumeCancelled, tried }: SessionRun, state: SessionState): RunStep {
  return planRun(state, { now: session.clock.now(), resumeCancelled, tried });
}

/** Resumes or begins one evaluation. One that fails is in the log: the next plan finds it there. */
async function act(
  hold: Hold,
  prompt: Prompt<unknown>,
  run: SessionRun,
  step: Extract<RunStep, { readonly do: 'resume' | 'begin' }>,
): Promise<void> {
  const { session } = hold;
  const { options, tried, responses } = run;
  try {
    const { evaluateUnderLease } = await import('./evaluate.ts'); // as `evaluateInSession`: with the first work
    const response = await (step.do === 'resume'
      ? evaluateUnderLease(hold, prompt, { ...options, resume: { evaluationId: step.evaluation.id } }, MAIN)
      : begin({ evaluateUnderLease, hold }, prompt, run, step));
    tried.add(response.evaluationId);
    responses.push(response);
  } catch (error) {
    if (error instanceof PlanChanged) return; // the input was withdrawn, or a person has decided otherwise
    await session.refresh();
    if (newestRunnable(session.state.record.evaluations)?.status !== 'failed') throw error;
  }
}

const MAIN = { conversationId: 'main' } as const;

type Beginning = Extract<RunStep, { readonly do: 'begin' }>;

async function begin(
  { evaluateUnderLease, hold }: Pick<typeof import('./evaluate.ts'), 'evaluateUnderLease'> & { readonly hold: Hold },
  prompt: Prompt<unknown>,
  run: SessionRun,
  step: Beginning,
): Promise<EvaluationResponse<unknown>> {
  const { input, continues, supersedes } = step;
  // External content is loaded: the session stores it again, for the message.
  const [message] = await hold.session.resolve([{ content: input.content } as UserMessage]);
  const content = (message as UserMessage).content;
  return evaluateUnderLease(
    hold,
    prompt,
    { ...run.options, input: content, key: input.id, resume: false, ...(continues !== undefined && { continues }) },
    {
      ...MAIN,
      placing: { inputId: input.id, guard: (state) => unlessPlannedOtherwise(step, nextStep(run, state)) },
      ...(supersedes && { stopped: supersedes }),
    },
  );
}

/**
 * Throws `PlanChanged` when the log has changed what is to be done: the input was withdrawn, or the evaluation that it
 * would supersede was abandoned, is to be resumed, or was cancelled again after the input was sent.
 */
function unlessPlannedOtherwise(step: Beginning, now: RunStep): void {
  const isSame =
    now.do === 'begin' &&
    now.input.id === step.input.id &&
    now.continues === step.continues &&
    now.supersedes === step.supersedes;
  if (!isSame) throw new PlanChanged(`input ${step.input.id} is not what comes next any more`);
}

/** Why the run stops here. */
async function resultOf({ session, responses }: SessionRun, step: RunStep): Promise<RunResult<unknown>> {
  if (step.do === 'idle') return { status: 'idle', responses };
  if (step.do === 'begin') return { status: 'suspended', responses };
  const { evaluation } = step;
  if (evaluation.status === 'running') return { status: 'suspended', responses }; // it was not resumed: the run is over
  if (evaluation.status === 'failed') return { status: 'failed', responses, error: failureOf(evaluation) };
  if (responses.at(-1)?.evaluationId === evaluation.id) return { status: 'suspended', responses };
  return { status: 'suspended', responses: [...responses, await waitingResponse(session, evaluation)] };
}

/** The error of an evaluation that failed. */
export function failureOf({ id, error }: Evaluation): HoldfastError {
  const { code, message } = error ?? { code: 'EVALUATION_FAILED', message: 'it failed' };
  const next = 'call session.abandon, and what was sent since is run';
  return new HoldfastError(code, `evaluation ${id} failed: ${message}; ${next}`);
}

/** The response of an evaluation that is suspended, from the log: the one that the run which suspended it has returned. */
export function waitingResponse(
  session: AnySession,
  { id, reason, until, suspension, cancelRequest }: Evaluation,
): Promise<EvaluationResponse<unknown>> {
  // An evaluation that is suspended for another reason waits for no person, although calls are open: one may have a child that failed.
  const isOfCalls = reason === undefined || reason === 'CANCELLED' || CALL_REASONS.has(reason);
  const open = isOfCalls ? session.pending({ evaluationId: id }) : [];
  const ofPerson = open.filter(({ deferred }) => !deferred);
  const pending = ofPerson.map(({ evaluationId, turn, callId, attempt }) => ({ evaluationId, turn, callId, attempt }));
  const timer = until !== undefined && { wakeAt: until };
  const why = reason ?? 'CANCELLED';
  const message = cancelRequest ? cancelled(cancelRequest).message : WAITS[why]; // of logs that lack the recorded one
  return respond(session, id, { status: 'suspended', reason: why, message, ...suspension, pending, ...timer });
}

const WAITS: Readonly<Record<SuspendReason, string>> = {
  APPROVAL_REQUIRED: 'calls wait for approval: session.approve or session.deny, then run again',
  TOOL_OUTCOME_UNKNOWN: 'the outcome of calls is unknown: session.settle, then run again',
  TIMER_PENDING: 'a call waits until a time; a worker or the next run continues it then, session.resume at once',
  DEADLINE_EXCEEDED: 'the deadline had passed; run again with a later one',
  BUDGET_EXCEEDED: 'its budget is used up; session.resume with a larger one, or run again with one',
  TURN_LIMIT: 'its turns are used up; run again with a higher maxTurns',
  CANCELLED: 'it was cancelled; send something else, or run again with resumeCancelled',
  PROVIDER_FAILED: 'the provider failed; run again, or session.abandon',
};
