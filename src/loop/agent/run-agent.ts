import { HoldfastError } from '../../core/errors.ts';
import type { Evaluation } from '../../core/fold/evaluations.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { InputContent } from '../../core/log/events.ts';
import { agentOfStep, type InputOutcome, inputOutcome } from '../../core/plan/input-outcome.ts';
import { newestRunnable, planRun, type RunStep } from '../../core/plan/run-plan.ts';
import { refuseImported } from '../../session/change/imported.ts';
import type { AnySession } from '../../session/session.ts';
import { addSlices } from '../define/tool-slices.ts';
import type { EvaluationEvent, EvaluationResponse, RunOptions, RunResult } from '../evaluate/provider-adapter.ts';
import { recordedResponse, respond } from '../evaluate/respond.ts';
import { failureOf, RUN_OPTIONS, waitingResponse } from '../evaluate/run-session.ts';
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
  const run = { wait: true, ...given, session, agent: agent.name };
  if (input === undefined && id !== undefined) {
    throw new HoldfastError('INVALID_ARGUMENT', 'an id names an input, and agent.run got none');
  }
  refuseImported(session);
  return watched(agent, run, undefined, async (live) => {
    if (input === undefined) return withoutInput(agent, session, await agent.adapter.run(agent.prompt, live));
    const named = { ...(id !== undefined && { id }), ...(mode && { mode }), ...(by !== undefined && { by }) };
    const { id: inputId } = await session.send(input, { ...named, agent: agent.name });
    const before = outcomeOf(session, inputId);
    if (before.isFinal) return responseTo(agent, session, before);
    const result = await agent.adapter.run(agent.prompt, { ...live, until: inputId });
    if (result.status === 'busy') await session.refresh(); // otherwise it has read all that was there when it ended
    return responseTo(agent, session, outcomeOf(session, inputId), result);
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
  return watched(agent, options, listener, (live) => agent.adapter.run(agent.prompt, live));
}

/**
 * Calls `body` with the agent's defaults and slices, and the listeners with every event meanwhile: those that any process commits, and
 * what this one emits between two commits.
 */
async function watched<Output, Result>(
  { prompt, defaults, onEvent: ofAgent }: Agent<Output>,
  { onEvent, ...given }: RunOptions,
  listener: AgentListener | undefined,
  body: (options: RunOptions) => Promise<Result>,
): Promise<Result> {
  const session = given.session as AnySession;
  await addSlices(session, prompt);
  const options = { ...defaults, ...given };
  const listeners = [onEvent, ofAgent, listener].filter((each) => each !== undefined) as readonly AgentListener[];
  if (listeners.length === 0) return body(options);
  const context = { sessionId: session.id };
  const notify = (event: EvaluationEvent): undefined => {
    const returned = listeners.map((each) => each(event, context));
    // A rejected promise is reported as one that is thrown is: the loop and the session look at what a listener returns.
    return (returned.some((each) => each instanceof Promise) ? Promise.all(returned) : undefined) as undefined;
  };
  const stop = session.subscribe((event) => notify(event as EvaluationEvent));
  try {
    return await body({ ...options, onEvent: (event) => ('seq' in event ? undefined : notify(event)) });
  } finally {
    stop();
  }
}

interface Found extends InputOutcome {
  readonly step: RunStep;
}

function outcomeOf(session: AnySession, inputId: string): Found {
  const step = planRun(session.state, { now: session.clock.now(), tried: new Set() });
  const outcome = inputOutcome(session.state, inputId, step);
  if (!outcome) throw new HoldfastError('INPUT_NOT_FOUND', `session ${session.id} has no input ${inputId}`);
  return { ...outcome, step };
}

/** The response to an input. */
async function responseTo<Output>(
  agent: Agent<Output>,
  session: AnySession,
  { input, evaluation, step }: Found,
  result?: RunResult<unknown>,
): Promise<AgentResponse<Output>> {
  const hasWork = step.do === 'resume' || step.do === 'begin';
  const base = { inputId: input.id, ...(hasWork && { left: true as const }) };
  if (evaluation?.status === 'running') return { ...base, ...busy(result), evaluationId: evaluation.id };
  if (evaluation) return { ...(await responseOf(agent, session, evaluation, result)), ...base };
  if (input.status === 'withdrawn') return { ...base, status: 'withdrawn', message: 'the input was withdrawn' };
  if (result?.status === 'busy') return { ...base, ...busy(result) };
  return { ...base, ...(await queuedBehind(agent, session, step)) };
}

/** The response of a run without an input: the newest evaluation's. */
async function withoutInput<Output>(
  agent: Agent<Output>,
  session: AnySession,
  result: RunResult<unknown>,
): Promise<AgentResponse<Output>> {
  if (result.status === 'busy') return busy(result);
  const newest = newestRunnable(session.state.record.evaluations);
  const isDone = result.responses.length === 0 && result.status === 'idle';
  if (!newest || isDone) return { status: 'idle', message: 'nothing was left to do' };
  const left = result.status === 'left' && { left: true as const };
  return { ...(await responseOf(agent, session, newest, result)), ...left };
}

function busy(result: RunResult<unknown> | undefined): UnfinishedRun {
  const holder = result?.lease?.holder;
  const who = holder ? `process ${holder.pid} on ${holder.host}` : 'another process';
  return { status: 'busy', message: `the session is run by ${who}, which does what is left; run again to follow it` };
}

/** The response of an evaluation that has ended or waits. */
async function responseOf<Output>(
  agent: Agent<Output>,
  session: AnySession,
  evaluation: Evaluation,
  result: RunResult<unknown> | undefined,
): Promise<AgentResponse<Output>> {
  const isOwn = evaluation.promptNs === agent.prompt.ns && evaluation.promptKey === agent.prompt.key;
  if (evaluation.status === 'completed') {
    const { evaluationId, text, usage, turns, output } = (await (isOwn
      ? recordedResponse(session, agent.prompt as Agent<unknown>['prompt'], evaluation)
      : respond(session, evaluation.id))) as EvaluationResponse<Output>;
    return { status: 'completed', evaluationId, text, usage, turns, output: output as Output };
  }
  const ran = result?.responses.findLast(({ evaluationId }) => evaluationId === evaluation.id);
  const waiting = ran?.status === 'suspended' ? ran : await waitingResponse(session, evaluation);
  const { evaluationId, text, usage, turns } = waiting;
  const base = { evaluationId, text, usage, turns };
  if (evaluation.status === 'failed') {
    const error = failureOf(evaluation);
    return { ...base, status: 'failed', error, message: error.message };
  }
  if (evaluation.status === 'superseded') {
    const by = evaluation.supersededBy;
    const message = by === undefined ? 'it was abandoned' : `evaluation ${by} replaced it`;
    return { ...base, status: 'superseded', message };
  }
  const { reason, message = '', pending, wakeAt, failure, limit } = waiting;
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
  const { status, reason, pending, wakeAt, message } =
    evaluation.status === 'suspended'
      ? await waitingResponse(session, evaluation)
      : { status: evaluation.status, message: '' };
  const blockedBy = {
    ...other,
    evaluationId: evaluation.id,
    status: status as 'suspended' | 'failed' | 'running',
    ...(reason && { reason }),
    ...(pending?.length && { pending }),
    ...(wakeAt && { wakeAt }),
  };
  const why = status === 'failed' ? failureOf(evaluation).message : message;
  return { status: 'queued', message: `evaluation ${evaluation.id} is ahead of it: ${why || 'it is open'}`, blockedBy };
}
