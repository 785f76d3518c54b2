import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import type { Evaluation } from '../../core/fold/evaluations.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { InputContent } from '../../core/log/events.ts';
import { agentOfStep, type InputOutcome, inputOutcome } from '../../core/plan/input-outcome.ts';
import { newestRunnable, planRun, type RunStep } from '../../core/plan/run-plan.ts';
import { refuseImported } from '../../session/change/imported.ts';
import type { AnySession } from '../../session/session.ts';
import { addSlices } from '../define/tool-slices.ts';
import { boundInstructions } from '../evaluate/check-options.ts';
import { guarded } from '../evaluate/inside-evaluation.ts';
import { perSession } from '../evaluate/per-session.ts';
import type { EvaluationEvent, RunOptions, RunResult } from '../evaluate/provider-adapter.ts';
import { recordedResponse, respond } from '../evaluate/respond.ts';
import { failureOf, newSessionRun, RUN_OPTIONS, waitingResponse } from '../evaluate/run-session.ts';
import type { Agent, AgentListener, AgentResponse, AgentRunOptions, RunObstacle, UnfinishedRun } from './agent.ts';

/**
 * One call of `agent.run`: everything that it returns is read from the log, so that the same call after a crash returns the same.
 *
 *     send the input ──▶ it has its response ─────────────────────────────▶ return it
 *                   └──▶ run until it has, or follow the process that runs ──┘
 */
export async function runAgent<Output>(
  agent: Agent<Output>,
  session: AnySession,
  input: string | InputContent | undefined,
  options: AgentRunOptions,
): Promise<AgentResponse<Output>> {
  if (typeof session?.send !== 'function') {
    throw new HoldfastError('INVALID_ARGUMENT', 'agent.run needs a session: await store.session(id) opens one');
  }
  refuseUnknownOptions('agent.run', options, OPTIONS);
  const { id, mode, by, ...given } = options;
  const isGiven = ([, value]: readonly [string, unknown]): boolean => value !== undefined;
  const own = Object.fromEntries(Object.entries(given).filter(isGiven));
  const run: RunOptions = { ...agent.defaults, wait: true, ...own, session, agent: agent.name };
  const { resumeCancelled } = newSessionRun(run); // what it refuses is refused before the input is sent
  if (input === undefined && id !== undefined) {
    throw new HoldfastError('INVALID_ARGUMENT', 'an id names an input, and agent.run got none');
  }
  refuseImported(session);
  return watched(agent, run, undefined, async (live) => {
    if (input === undefined) {
      const result = await agent.adapter.run(agent.prompt, live);
      return withoutInput(agent, session, nextStep(session, resumeCancelled), result);
    }
    if (id === undefined || !session.state.record.inbox.items.has(id)) boundInstructions(agent.prompt, run);
    const named = { ...(id !== undefined && { id }), ...(mode && { mode }), ...(by !== undefined && { by }) };
    const { id: inputId } = await session.send(input, { ...named, agent: agent.name });
    const before = outcomeOf(session, inputId, resumeCancelled);
    if (before.isFinal) return responseTo(agent, session, before);
    const result = await agent.adapter.run(agent.prompt, { ...live, until: inputId });
    if (result.status === 'busy') await session.refresh(); // otherwise it has read all that was there when it ended
    return responseTo(agent, session, outcomeOf(session, inputId, resumeCancelled), result);
  });
}

const { until: _, agent: __, ...RUN } = RUN_OPTIONS;
const OPTIONS: KnownOptions<AgentRunOptions> = { ...RUN, id: true, mode: true, by: true };

/** Does what a session has left, as a worker does: `listener` gets every event beside the agent's own. */
export function runLeft<Output>(
  agent: Agent<Output>,
  options: RunOptions,
  listener: AgentListener | undefined,
): Promise<RunResult<Output>> {
  refuseImported(options.session as AnySession);
  return watched(agent, { ...agent.defaults, ...options }, listener, (live) => agent.adapter.run(agent.prompt, live));
}

/**
 * Calls `body` with the agent's slices, and the listeners with every event meanwhile: those that any process commits, and
 * what this one emits between two commits.
 */
async function watched<Output, Result>(
  agent: Agent<Output>,
  { onEvent, ...options }: RunOptions,
  listener: AgentListener | undefined,
  body: (options: RunOptions) => Promise<Result>,
): Promise<Result> {
  const session = options.session as AnySession;
  await addSlices(session, agent.prompt);
  const ofRun = ([onEvent, listener] as readonly (AgentListener | undefined)[])
    .filter((each) => each !== undefined)
    .map((each) => guarded(each));
  const watches = [...ofRun.map((each) => watch(session, each)), ...watchAs(agent as Agent<unknown>, session)];
  if (watches.length === 0) return body(options);
  const emit = (event: EvaluationEvent): void => {
    for (const { notify } of watches) notify(event);
  };
  try {
    return await body({ ...options, onEvent: (event) => ('seq' in event ? undefined : emit(event)) });
  } finally {
    for (const { stop } of watches) stop();
  }
}

/** A listener of a session's events. */
interface Watch {
  /** Calls it with what is emitted between two commits. */
  readonly notify: (event: EvaluationEvent) => void;
  readonly stop: () => void;
}

function watch(session: AnySession, listener: AgentListener): Watch {
  const context = { sessionId: session.id };
  const notify = (event: EvaluationEvent): void => void listener(event, context);
  return { notify, stop: session.subscribe((event) => notify(event as EvaluationEvent)) };
}

const watchesOf = perSession(() => new Map<Agent<unknown>, Watch & { runs: number }>());

/** The agent's own listener: one subscription for all runs that use the handle at once, so that it gets each event once. */
function watchAs(agent: Agent<unknown>, session: AnySession): readonly Watch[] {
  if (!agent.onEvent) return [];
  const watches = watchesOf(session);
  const shared = watches.get(agent) ?? { ...watch(session, guarded(agent.onEvent)), runs: 0 };
  watches.set(agent, shared);
  shared.runs++;
  const stop = (): void => {
    if (--shared.runs > 0) return;
    watches.delete(agent);
    shared.stop();
  };
  return [{ notify: shared.notify, stop }];
}

interface Found extends InputOutcome {
  readonly step: RunStep;
}

/** What a new run would do next. */
function nextStep({ state, clock }: AnySession, resumeCancelled: boolean): RunStep {
  return planRun(state, { now: clock.now(), resumeCancelled, tried: new Set() });
}

function outcomeOf(session: AnySession, inputId: string, resumeCancelled: boolean): Found {
  const step = nextStep(session, resumeCancelled);
  const outcome = inputOutcome(session.state, inputId, step);
  if (!outcome) throw new HoldfastError('INPUT_NOT_FOUND', `session ${session.id} has no input ${inputId}`);
  return { ...outcome, step };
}

/** The response to an input. */
async function responseTo<Output>(
  agent: Agent<Output>,
  session: AnySession,
  found: Found,
  result?: RunResult<unknown>,
): Promise<AgentResponse<Output>> {
  const { input, evaluation, step } = found;
  const base = { inputId: input.id, ...leftBeside(session, step, found) };
  if (evaluation && evaluation.status !== 'running')
    return { ...(await responseOf(agent, session, evaluation)), ...base };
  const placed = evaluation && { evaluationId: evaluation.id };
  if (input.status === 'withdrawn') return { ...base, status: 'withdrawn', message: 'the input was withdrawn' };
  if (result?.status === 'busy') return { ...base, ...busy(result), ...placed };
  return { ...base, ...(await queuedBehind(agent, session, step)), ...placed };
}

/** The response of a run without an input: the newest evaluation's, unless the run was not the one to do what is left. */
async function withoutInput<Output>(
  agent: Agent<Output>,
  session: AnySession,
  step: RunStep,
  result: RunResult<unknown>,
): Promise<AgentResponse<Output>> {
  if (result.status === 'busy') return busy(result);
  const newest = newestRunnable(session.state.record.evaluations);
  const didNothing = result.responses.length === 0 || newest?.status === 'running';
  if (!newest || (didNothing && step.do !== 'wait')) {
    if (step.do === 'idle') return { status: 'idle', message: 'nothing was left to do' };
    const ahead = await queuedBehind(agent, session, step);
    return { ...ahead, ...(ahead.blockedBy?.agent !== undefined && { status: 'idle' }), left: true };
  }
  return { ...(await responseOf(agent, session, newest)), ...leftBeside(session, step, { evaluation: newest }) };
}

/** Whether a run has work beside an input and its evaluation, which a repeat of the run would try again. */
function leftBeside(
  { state }: AnySession,
  step: RunStep,
  { input, evaluation }: Partial<Found>,
): { readonly left?: true } {
  const others = state.record.inbox.queued - (input?.status === 'queued' ? 1 : 0);
  const isLeft =
    step.do === 'resume' ? others > 0 || step.evaluation.id !== evaluation?.id : step.do === 'begin' && others > 0;
  return isLeft ? { left: true } : {};
}

function busy({ lease }: RunResult<unknown>): UnfinishedRun {
  const who = lease ? `process ${lease.holder.pid} on ${lease.holder.host}` : 'another process';
  return {
    status: 'busy',
    message: `the session is run by ${who}; run again to follow it, or to continue when it has ended`,
  };
}

/** The response of an evaluation that has ended or waits. */
async function responseOf<Output>(
  agent: Agent<Output>,
  session: AnySession,
  evaluation: Evaluation,
): Promise<AgentResponse<Output>> {
  const { evaluationId, text, usage, turns } = await respond(session, evaluation.id);
  const base = { evaluationId, text, usage, turns };
  const failed = (error: HoldfastError): UnfinishedRun => ({
    ...base,
    status: 'failed',
    error,
    message: error.message,
  });
  if (evaluation.status === 'completed') {
    try {
      // By this agent's schema, also when another agent has done the input, or the schema was another one then.
      const { output } = await recordedResponse(session, agent.prompt as Agent<unknown>['prompt'], evaluation);
      return { ...base, status: 'completed', output: output as Output };
    } catch (error) {
      if (isHoldfastError(error, 'OUTPUT_INVALID')) return failed(error);
      throw error;
    }
  }
  if (evaluation.status === 'failed') return failed(failureOf(evaluation));
  if (evaluation.status === 'superseded') {
    const by = evaluation.supersededBy;
    const message = by === undefined ? 'it was abandoned' : `evaluation ${by} replaced it`;
    return { ...base, status: 'superseded', message };
  }
  const { reason, message = '', pending, wakeAt, failure, limit } = await waitingResponse(session, evaluation);
  const extra = { ...(wakeAt && { wakeAt }), ...(failure && { failure }), ...(limit && { limit }) };
  return { ...base, status: 'suspended', ...(reason && { reason }), message, pending, ...extra };
}

/** Why an input is still queued: what is ahead of it waits, failed, or is another agent's. */
async function queuedBehind(agent: Agent<unknown>, session: AnySession, step: RunStep): Promise<UnfinishedRun> {
  const owner = agentOfStep(session.state, step);
  const other: RunObstacle = owner !== undefined && owner !== agent.name ? { agent: owner } : {};
  const evaluation = 'evaluation' in step ? step.evaluation : undefined;
  if (!evaluation) {
    const message = other.agent
      ? `an input of the agent "${other.agent}" is ahead of it; run that agent first`
      : 'the run ended before its turn came; run again';
    return { status: 'queued', message, blockedBy: other };
  }
  const { id: evaluationId, status } = evaluation;
  const blockedBy = { ...other, evaluationId, status: status as 'suspended' | 'failed' | 'running' };
  const behind = (why: string, more: RunObstacle = {}): UnfinishedRun => ({
    status: 'queued',
    message: `evaluation ${evaluationId} is ahead of it: ${why}`,
    blockedBy: { ...blockedBy, ...more },
  });
  if (status === 'failed') return behind(failureOf(evaluation).message);
  if (status === 'running')
    return behind(`it has not ended; run ${other.agent ? `the agent "${other.agent}"` : 'again'}`);
  const { reason, pending, wakeAt, message = '' } = await waitingResponse(session, evaluation);
  return behind(message, {
    ...(reason && { reason }),
    ...(pending.length > 0 && { pending }),
    ...(wakeAt && { wakeAt }),
  });
}
