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
import { recordedAnswer, respond } from '../evaluate/respond.ts';
import { failureOf, RUN_OPTIONS, waitingResponse } from '../evaluate/run-session.ts';
import type { Agent, AgentResponse, AgentRunOptions, RunObstacle, UnfinishedRun } from './agent.ts';

/** Called with the events of all sessions of an agent, a worker or a server. */
export type AgentListener = (event: EvaluationEvent, context: { readonly sessionId: string }) => unknown;

interface AgentRun {
  readonly input: string | InputContent | undefined;
  readonly options: AgentRunOptions;
  readonly listener: AgentListener | undefined;
}

/**
 * One call of `agent.run`: everything that it returns is read from the log, so that the same call after a crash returns the same.
 *
 *     send the input ──▶ it has its response ─────────────────────────────▶ return it
 *                   └──▶ run until it has, or follow the process that runs ──┘
 */
export async function runAgent<Output>(
  agent: Agent<Output>,
  session: AnySession,
  { input, options, listener }: AgentRun,
): Promise<AgentResponse<Output>> {
  if (typeof session?.send !== 'function') {
    throw new HoldfastError('INVALID_ARGUMENT', 'agent.run needs a session: await store.session(id) opens one');
  }
  refuseUnknownOptions('agent.run', options, OPTIONS);
  const { id, mode, by, onEvent, ...given } = options;
  refuseImported(session);
  await addSlices(session, agent.prompt);
  if (input === undefined && id !== undefined) {
    throw new HoldfastError('INVALID_ARGUMENT', 'an id names an input, and agent.run got none');
  }
  const { live, stop } = listen(session, onEvent, listener);
  const run: RunOptions = { ...agent.defaults, wait: true, ...given, session, ...live };
  try {
    if (input === undefined) return await withoutInput(agent, session, await agent.adapter.run(agent.prompt, run));
    const named = { ...(id !== undefined && { id }), ...(mode && { mode }), ...(by !== undefined && { by }) };
    const { id: inputId } = await session.send(input, { ...named, agent: agent.name });
    const before = outcomeOf(session, inputId);
    if (before.isFinal) return await responseTo(agent, session, before);
    const result = await agent.adapter.run(agent.prompt, { ...run, until: inputId });
    await session.refresh();
    return await responseTo(agent, session, outcomeOf(session, inputId), result);
  } finally {
    stop();
  }
}

const { until: _, ...RUN } = RUN_OPTIONS;
const OPTIONS: KnownOptions<AgentRunOptions> = { ...RUN, id: true, mode: true, by: true };

/** Calls the listeners with every committed event of the session while the run lasts, and returns how they get the others. */
function listen(
  session: AnySession,
  onEvent: ((event: EvaluationEvent) => unknown) | undefined,
  listener: AgentListener | undefined,
): { readonly live: Pick<RunOptions, 'onEvent'>; readonly stop: () => void } {
  if (!onEvent && !listener) return { live: {}, stop: () => {} };
  const { id: sessionId } = session;
  const notify = (event: EvaluationEvent): unknown => {
    const returned = onEvent?.(event);
    const alsoReturned = listener?.(event, { sessionId });
    return returned instanceof Promise || alsoReturned instanceof Promise
      ? Promise.all([returned, alsoReturned])
      : undefined;
  };
  const stop = session.subscribe((event) => notify(event as EvaluationEvent) as undefined);
  // The loop also emits what it commits: the subscription has that, whichever process commits it.
  return { live: { onEvent: (event) => ('seq' in event ? undefined : (notify(event) as undefined)) }, stop };
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
      ? recordedAnswer(session, agent.prompt as Agent<unknown>['prompt'], evaluation)
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
