import { type Evaluation, isOpen, openCalls, type RaisedLimits } from '../../core/fold/evaluations.ts';
import type { NewEvent, ProviderFailure, Without } from '../../core/log/events.ts';
import { callKey } from '../../core/log/messages.ts';
import { type Model, ModelError } from '../../ports/model.ts';
import { uniqueId } from '../../session/append/unique-id.ts';
import type { HeldLease } from '../../session/lease.ts';
import { thisProcess } from '../../session/process-identity.ts';
import type { AnySession } from '../../session/session.ts';
import { PlanChanged, unlessAnyDecided } from '../calls/call-guards.ts';
import { CallDrafts } from '../calls/call-progress.ts';
import { ChildIndex } from '../calls/child-index.ts';
import type { Prompt } from '../define/define-prompt.ts';
import { addSlices } from '../define/tool-slices.ts';
import { DraftWriter } from '../request/draft-writer.ts';
import type { Prices } from '../request/prices.ts';
import type { RecordProviderMetadata } from '../request/provider-metadata.ts';
import { RequestHistory } from '../request/request-history.ts';
import { joinSharedUsage } from '../request/spending.ts';
import { interruptLeftDraft } from '../request/stream-response.ts';
import { createAborter, narrowed } from './aborter.ts';
import { begin, type Place } from './begin.ts';
import { CancelWatch, cancelled } from './cancel-watch.ts';
import { checkOptions } from './check-options.ts';
import { freeEvaluationId } from './evaluation-identity.ts';
import { findEvaluation } from './find-evaluation.ts';
import { runToEnd } from './inner-loop.ts';
import { guarded, insideEvaluation } from './inside-evaluation.ts';
import type { ChildOptions, EvaluateOptions, EvaluationResponse } from './provider-adapter.ts';
import { recordedResponse, respond } from './respond.ts';
import { type Agent, currentEvaluation, type Run, record } from './run.ts';
import { Suspension } from './suspension.ts';

/** What an adapter brings to every evaluation. */
export interface LoopSettings {
  readonly model: Model;
  readonly summaryModel: Model;
  /** Asked instead of the model, if there is one. */
  readonly agent?: Agent;
  readonly maxModelRetries: number;
  readonly maxProviderWaitMs: number;
  readonly prices?: Prices;
  readonly recordProviderMetadata?: RecordProviderMetadata | undefined;
  readonly leaseTtlMs: number | undefined;
  readonly maxBlockedMs: number | undefined;
  readonly random: () => number;
}

/** What an evaluation runs with. */
export interface Hold {
  readonly settings: LoopSettings;
  readonly session: AnySession;
  readonly lease: HeldLease;
}

/**
 * Evaluates a prompt under a lease that the caller holds and releases: begins or resumes, and runs until it ends or is suspended. The
 * session has been read up since the lease was taken.
 */
export async function evaluateUnderLease(
  { settings, session, lease }: Hold,
  prompt: Prompt<unknown>,
  options: EvaluateOptions,
  place: Place,
): Promise<EvaluationResponse<unknown>> {
  const aborter = createAborter({
    clock: session.clock,
    deadline: options.deadline,
    cancel: options.signal,
    signals: [lease.lost],
  });
  const emit = options.onEvent && guarded(options.onEvent);
  const draftWriter = new DraftWriter(session, lease);
  const callDrafts = new CallDrafts({ session, emit, draftWriter });
  const background: Promise<void>[] = [];
  let unsubscribe: () => void = () => {};
  let cancels: CancelWatch | undefined;
  try {
    if (emit) unsubscribe = session.subscribe(emit);
    cancels = new CancelWatch(session);
    const base: Surroundings = {
      settings,
      session,
      aborter,
      cancels,
      fence: lease.fence,
      ensureLease: () => lease.ensure(),
      emit,
      draftWriter,
      callDrafts,
      children: new ChildIndex(session),
      background: (work) => {
        if (work) background.push(work.catch(() => {})); // a draft left behind is found and removed by the next resume
      },
    };
    return await insideEvaluation(session, () => evaluateConversation(base, prompt, options, place));
  } finally {
    unsubscribe();
    cancels?.stop();
    draftWriter.stop();
    await callDrafts.close();
    aborter.dispose();
    await Promise.all(background);
  }
}

interface Surroundings
  extends Pick<
    Run,
    'session' | 'aborter' | 'fence' | 'ensureLease' | 'emit' | 'draftWriter' | 'callDrafts' | 'background' | 'children'
  > {
  readonly settings: LoopSettings;
  readonly cancels: CancelWatch;
}

/** One conversation, the main one or a child (D52): both begin, resume and end in the same way. */
async function evaluateConversation(
  around: Surroundings,
  prompt: Prompt<unknown>,
  options: EvaluateOptions,
  place: Place,
): Promise<EvaluationResponse<unknown>> {
  const found = findEvaluation(around.session, prompt, options, place.conversationId);
  if (found && !isOpen(found)) return recordedResponse(around.session, prompt, found);
  await addSlices(around.session, prompt);
  const stop = found?.cancelRequest && cancelled(found.cancelRequest);
  if (found && stop && found.status === 'suspended' && options.resume === 'auto') {
    const { reason, message } = stop;
    return respond(around.session, found.id, { status: 'suspended', reason, message, pending: [] });
  }
  // A request that came while no process ran it is obeyed, and the evaluation not resumed (D73).
  const obeyed = found?.status === 'running' ? stop : undefined;
  const evaluationId = found?.id ?? newEvaluationId(around.session, options);
  const allowed = found?.raised ? withRaised(options, found.raised) : options;
  const run: Run = {
    ...around,
    aborter: around.cancels.aborterOf(evaluationId, around.aborter, { isChild: place.parent !== undefined }),
    ...(obeyed && { cancelled: obeyed }),
    prompt,
    options: allowed,
    model: around.settings.model,
    summaryModel: around.settings.summaryModel,
    ...(around.settings.agent && { agent: around.settings.agent }),
    evaluationId,
    history: new RequestHistory(),
    random: around.settings.random,
    maxModelRetries: around.settings.maxModelRetries,
    maxProviderWaitMs: around.settings.maxProviderWaitMs,
    prices: around.settings.prices ?? {},
    recordProviderMetadata:
      options.recordProviderMetadata ??
      place.parent?.run.recordProviderMetadata ??
      around.settings.recordProviderMetadata,
    startedHere: new Map(),
    resumption: { event: found && !obeyed ? resumedEvent(found, around.cancels.since) : undefined },
    attempts: 0,
    draft: undefined,
    staleDrafts: new Set(),
    ...(place.parent && { parent: place.parent.run }),
    child: (parent, call, childPrompt, childOptions, { conversationId, evaluationId, signal }) => {
      const inner = { ...around, aborter: narrowed(parent.aborter, signal) };
      const resume = evaluationId === undefined ? false : { evaluationId };
      const given = { ...childOptions, resume };
      return evaluateChild(inner, childPrompt, given, { conversationId, parent: { call, run: parent } });
    },
  };
  const leave = joinSharedUsage(run);
  try {
    if (found) run.attempts = await interruptLeftDraft(run, found);
    else await begin(run, place);
    return await carryOut(run);
  } finally {
    leave?.();
    around.cancels.forget(evaluationId);
  }
}

/** The event that the first append of a resume carries (D68). */
function resumedEvent(
  { id: evaluationId, attempt = 1 }: Evaluation,
  after: number,
): NonNullable<Run['resumption']['event']> {
  const { pid, host } = thisProcess();
  return { type: 'evaluation/resumed', evaluationId, attempt: attempt + 1, by: `process ${pid} on ${host}`, after };
}

/** The caller's options with the limits that a request to resume has raised (D73). */
function withRaised(options: EvaluateOptions, { budget, maxTurns }: RaisedLimits): EvaluateOptions {
  return {
    ...options,
    ...(budget && { budget: { ...options.budget, ...budget } }),
    ...(maxTurns !== undefined && { maxTurns }),
  };
}

function newEvaluationId(session: AnySession, { evaluationId }: EvaluateOptions): string {
  if (evaluationId === undefined) return uniqueId('ev_');
  return freeEvaluationId(session, evaluationId).free;
}

/** Runs to the end; whatever stops it on the way is recorded, so that the next process knows (D13). */
async function carryOut(run: Run): Promise<EvaluationResponse<unknown>> {
  for (;;) {
    try {
      await runToEnd(run).finally(() => run.history.close());
      break;
    } catch (error) {
      if (!(error instanceof Suspension)) throw error;
      const response = await suspend(run, error);
      if (response) return response;
    }
  }
  const evaluation = run.session.state.record.evaluations.get(run.evaluationId);
  return evaluation ? recordedResponse(run.session, run.prompt, evaluation) : respond(run.session, run.evaluationId);
}

/** Records a suspension and returns its response. Returns undefined when a person has decided about one of its calls: the loop plans again. */
async function suspend(run: Run, suspension: Suspension): Promise<EvaluationResponse<unknown> | undefined> {
  const { reason, message, cause, pending = [], timed, until, limit, unreconciled } = suspension;
  const failure = reason === 'PROVIDER_FAILED' && failureOf(run, cause);
  const why = { reason, message, pending, ...(failure && { failure }), ...(limit && { limit }) };
  const decidable = [...pending, ...timed];
  const { evaluationId } = run;
  try {
    const timer = until !== undefined && { until };
    const unknown = unreconciled.length > 0 && { unreconciled };
    const suspended = { type: 'evaluation/suspended', evaluationId, ...why, ...unknown, ...timer } as const;
    // An agent with a loop of its own does not plan by the log: it would run into the same suspension again.
    const guard = run.agent || decidable.length === 0 ? undefined : unlessAnyDecided(decidable);
    await record(run, [...neverBegan(run), suspended], guard ? { guard } : {});
  } catch (error) {
    if (error instanceof PlanChanged) return undefined;
    throw error;
  }
  // A request to cancel may have been appended right before the suspension: then no decision of a person continues it (D73).
  const { cancelRequest } = currentEvaluation(run);
  const stop = cancelRequest && cancelled(cancelRequest);
  const wakes = until !== undefined && { wakeAt: until };
  const stated = stop ? { reason: stop.reason, message: stop.message, pending } : { ...why, ...wakes };
  return respond(run.session, evaluationId, { status: 'suspended', ...stated });
}

/** Which provider failed; nothing for an agent with a loop of its own, which asks providers itself. */
function failureOf({ model, agent }: Run, cause: unknown): ProviderFailure | undefined {
  if (agent) return undefined;
  const status = cause instanceof ModelError ? cause.status : undefined;
  return { provider: model.provider, ...(status !== undefined && { status }) };
}

/** Settles calls whose start is in the log and which did not run: no person has to find out whether they happened. */
function neverBegan(run: Run): readonly Without<NewEvent, 'at'>[] {
  return openCalls(currentEvaluation(run))
    .filter((call) => run.startedHere.has(callKey(call)))
    .map(({ evaluationId, turn, callId, attempt }) => ({
      type: 'tool/settled',
      evaluationId,
      turn,
      callId,
      attempt,
      how: { rerun: true },
    }));
}

async function evaluateChild(
  around: Surroundings,
  prompt: Prompt<unknown>,
  options: ChildOptions & Pick<EvaluateOptions, 'resume'>,
  place: Place & Required<Pick<Place, 'parent'>>,
): Promise<EvaluationResponse<unknown>> {
  const { resume: _, ...given } = options; // set by the loop, when the child is in the log
  checkOptions(given, 'ctx.evaluate');
  const { promptValidation } = place.parent.run.options;
  const inherited = { ...(promptValidation && { promptValidation }), ...options };
  return evaluateConversation(around, prompt, inherited, place);
}
