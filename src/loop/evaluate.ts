import { randomBytes } from 'node:crypto';
import { canonicalJson } from '../core/canonical-json.ts';
import { HoldfastError } from '../core/errors.ts';
import { type Evaluation, isOpen, openCalls } from '../core/evaluations.ts';
import type { NewEvent, Without } from '../core/events.ts';
import { type CallRef, type ConversationMessage, callKey, textOf } from '../core/messages.ts';
import { bindTemplate, promptMismatch } from '../core/prompt-identity.ts';
import { getLatestEvaluation } from '../core/views.ts';
import type { Model } from '../ports/model.ts';
import { sha256 } from '../session/contents.ts';
import { holdLease } from '../session/lease.ts';
import type { AnySession } from '../session/session.ts';
import type { Prompt } from './define-prompt.ts';
import { checkOutput } from './finish.ts';
import { checkOptions, narrowed, Suspension, watchLimits } from './limits.ts';
import type { ChildOptions, EvaluateOptions, EvaluationEvent, EvaluationResponse } from './provider-adapter.ts';
import { RequestHistory } from './request-history.ts';
import { type Agent, currentEvaluation, messageBase, type Run, record, runToEnd } from './run.ts';
import { interruptLeftDraft } from './stream-answer.ts';
import { describeError } from './tool-result.ts';

/** What an adapter brings to every evaluation. */
export interface LoopSettings {
  readonly model: Model;
  readonly summaryModel: Model;
  /** Asked instead of the model, if there is one. */
  readonly agent?: Agent;
  readonly maxModelRetries: number;
  readonly leaseTtlMs: number | undefined;
  readonly random: () => number;
}

/** Evaluates a prompt in a session: begins or resumes, runs until it ends or waits, and answers how. */
export async function evaluateInSession(
  settings: LoopSettings,
  session: AnySession,
  prompt: Prompt<unknown>,
  options: EvaluateOptions,
): Promise<EvaluationResponse<unknown>> {
  checkOptions(options);
  const lease = await holdLease(session.store, session.id, {
    clock: session.clock,
    ...(settings.leaseTtlMs !== undefined && { ttlMs: settings.leaseTtlMs }),
  });
  const limits = watchLimits({
    clock: session.clock,
    deadline: options.deadline,
    cancel: options.signal,
    signals: [lease.lost],
  });
  const emit = options.onEvent ? guarded(options.onEvent) : () => {};
  const background: Promise<void>[] = [];
  let unsubscribe: () => void = () => {};
  try {
    if (options.onEvent) unsubscribe = session.subscribe(emit);
    await session.refresh(); // whoever held the lease before may have written
    const base: Surroundings = {
      settings,
      session,
      limits,
      fence: lease.fence,
      emit,
      background: (work) => {
        if (work) background.push(work.catch(() => {})); // a draft left behind is found and removed by the next resume
      },
    };
    return await evaluateConversation(base, prompt, options, { conversationId: 'main' });
  } finally {
    unsubscribe();
    limits.dispose();
    await Promise.all(background);
    await lease.release().catch(() => {}); // what was recorded is there; a lease that cannot be given back expires
  }
}

/** A listener whose first error is a warning of the process, and the others nothing: who watches a run must not break it. */
function guarded(listener: (event: EvaluationEvent) => unknown): (event: EvaluationEvent) => void {
  let warned = false;
  const warn = (error: unknown): void => {
    if (!warned) process.emitWarning(`onEvent failed: ${describeError(error)}`, 'HoldfastWarning');
    warned = true;
  };
  return (event) => {
    try {
      const result = listener(event);
      if (result instanceof Promise) result.catch(warn);
    } catch (error) {
      warn(error);
    }
  };
}

interface Surroundings extends Pick<Run, 'session' | 'limits' | 'fence' | 'emit' | 'background'> {
  readonly settings: LoopSettings;
}

interface Place {
  readonly conversationId: string;
  /** The call that asked for a child conversation, and the run that it belongs to. */
  readonly parent?: { readonly call: CallRef; readonly run: Run };
}

/** One conversation, the main one or a child (D52): both begin, resume and end in the same way. */
async function evaluateConversation(
  around: Surroundings,
  prompt: Prompt<unknown>,
  options: EvaluateOptions,
  place: Place,
): Promise<EvaluationResponse<unknown>> {
  const found = findEvaluation(around.session, prompt, options, place);
  if (found && !isOpen(found)) return recordedAnswer(around.session, prompt, found);
  const run: Run = {
    ...around,
    prompt,
    options,
    model: around.settings.model,
    summaryModel: around.settings.summaryModel,
    ...(around.settings.agent && { agent: around.settings.agent }),
    evaluationId: found?.id ?? `ev_${randomBytes(9).toString('base64url')}`,
    history: new RequestHistory(),
    random: around.settings.random,
    maxModelRetries: around.settings.maxModelRetries,
    startedHere: new Map(),
    attempts: 0,
    draft: undefined,
    ...(place.parent && { parent: place.parent.run }),
    child: (parent, call, childPrompt, childOptions, { conversationId, signal }) => {
      const inner = { ...around, limits: narrowed(around.limits, signal) };
      return evaluateChild(inner, childPrompt, childOptions, { conversationId, parent: { call, run: parent } });
    },
  };
  if (found) run.attempts = await interruptLeftDraft(run, found);
  else await begin(run, place);
  return carryOut(run);
}

/** Runs to the end; whatever stops it on the way is recorded, so that the next process knows (D13). */
async function carryOut(run: Run): Promise<EvaluationResponse<unknown>> {
  try {
    await runToEnd(run);
  } catch (error) {
    if (!(error instanceof Suspension)) throw error;
    const pending = Array.isArray(error.cause) ? (error.cause as readonly CallRef[]) : [];
    await record(run, [
      ...neverBegan(run),
      {
        type: 'evaluation/suspended',
        evaluationId: run.evaluationId,
        reason: error.reason,
        message: error.message,
        pending,
      },
    ]);
    return respond(run.session, run.evaluationId, {
      status: 'suspended',
      reason: error.reason,
      message: error.message,
      pending,
    });
  }
  const evaluation = run.session.state.record.evaluations.get(run.evaluationId);
  return evaluation ? recordedAnswer(run.session, run.prompt, evaluation) : respond(run.session, run.evaluationId, {});
}

/** Calls whose start stands in the log and which did not begin: nobody has to be asked whether they happened. */
function neverBegan(run: Run): readonly Without<NewEvent, 'at'>[] {
  return openCalls(currentEvaluation(run))
    .filter((call) => run.startedHere.has(callKey(call)))
    .map(({ evaluationId, turn, callId }) => ({
      type: 'tool/settled',
      evaluationId,
      turn,
      callId,
      how: { rerun: true },
    }));
}

async function evaluateChild(
  around: Surroundings,
  prompt: Prompt<unknown>,
  options: ChildOptions,
  place: Required<Place>,
): Promise<EvaluationResponse<unknown>> {
  checkOptions(options);
  const { promptValidation } = place.parent.run.options;
  const newest = getLatestEvaluation(around.session, { conversationId: place.conversationId });
  const resume = newest ? { evaluationId: newest.id } : false;
  const inherited = { ...(promptValidation && { promptValidation }), ...options, resume };
  return evaluateConversation(around, prompt, inherited, place);
}

/** Which evaluation to go on with, or none to begin one (D2). Refuses a prompt that is not the one it was started with (D4). */
function findEvaluation(
  session: AnySession,
  prompt: Prompt<unknown>,
  options: EvaluateOptions,
  place: Place,
): Evaluation | undefined {
  const { resume = false } = options;
  if (resume === false) return undefined;
  if (typeof resume === 'object' && 'adapterState' in resume) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      'this adapter keeps everything in the log; resume with true, "auto" or { evaluationId }',
    );
  }
  const found =
    typeof resume === 'object'
      ? session.state.record.evaluations.get(resume.evaluationId)
      : getLatestEvaluation(session, { ns: prompt.ns, key: prompt.key, conversationId: place.conversationId });
  if (resume === 'auto') {
    const same = found?.inputHash === inputHash(options) && (isOpen(found) || found.status === 'completed');
    if (!found || !same) return undefined;
  }
  if (!found) {
    throw new HoldfastError(
      'CONVERSATION_NOT_FOUND',
      `session ${session.id} has no evaluation of ${prompt.ns}/${prompt.key} to resume; evaluate without resume, or with resume: 'auto'`,
    );
  }
  if (found.status === 'superseded') {
    throw new HoldfastError('CONVERSATION_NOT_FOUND', `evaluation ${found.id} was superseded; resume the newest one`);
  }
  const why = promptMismatch(found, prompt, options.promptValidation ?? 'strict');
  if (why) {
    throw new HoldfastError(
      'PROMPT_MISMATCH',
      `evaluation ${found.id} cannot be resumed: ${why}; use promptValidation: 'relaxed' to go on anyway, or start again`,
    );
  }
  return found;
}

function inputHash(options: EvaluateOptions): string {
  return sha256(canonicalJson({ input: options.input ?? null, key: options.key ?? null }));
}

/** Records the beginning in one append: what it supersedes, the evaluation, its system and user messages (D7). */
async function begin(run: Run, place: Place): Promise<void> {
  const { session, prompt, options, evaluationId } = run;
  const { input, key } = options;
  const { text, missing } = bindTemplate(prompt.instructions, options.params ?? {});
  if (missing.length > 0) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `prompt ${prompt.ns}/${prompt.key} needs params: ${missing.join(', ')}`,
    );
  }
  const { conversationId } = place;
  const parent = place.parent?.call;
  const continues = continued(session, options, place);
  const at = new Date(session.clock.now()).toISOString();
  const names = { id: evaluationId, conversationId, promptNs: prompt.ns, promptKey: prompt.key };
  const messages: ConversationMessage[] = [];
  const place0 = (): { readonly sequence: number; readonly turn: number } => ({ sequence: messages.length, turn: 0 });
  if (text !== '')
    messages.push({ ...messageBase(names, place0(), at), role: 'system', content: [{ type: 'text', text }] });
  if (input !== undefined && input.length > 0) {
    const content = typeof input === 'string' ? [{ type: 'text' as const, text: input }] : input;
    messages.push({ ...messageBase(names, place0(), at), role: 'user', content });
  }
  const older = openEvaluations(session, prompt, conversationId);
  for (const evaluation of older) await interruptLeftDraft(run, evaluation);
  await record(run, [
    ...older.map(
      (evaluation): Without<NewEvent, 'at'> => ({
        type: 'evaluation/superseded',
        evaluationId: evaluation.id,
        by: evaluationId,
      }),
    ),
    {
      type: 'evaluation/started',
      evaluationId,
      conversationId,
      promptNs: prompt.ns,
      promptKey: prompt.key,
      promptHash: prompt.hash,
      inputHash: inputHash(options),
      ...(key !== undefined && { key }),
      ...(continues !== undefined && { continues }),
      ...(run.agent && { adapterType: run.agent.adapterType }),
      ...(parent && { parent: { evaluationId: parent.evaluationId, turn: parent.turn, callId: parent.callId } }),
    },
    ...messages.map((message): Without<NewEvent, 'at'> => ({ type: 'message/recorded', message })),
  ]);
}

function openEvaluations(session: AnySession, prompt: Prompt<unknown>, conversationId: string): readonly Evaluation[] {
  const newest = getLatestEvaluation(session, { ns: prompt.ns, key: prompt.key, conversationId });
  return newest && isOpen(newest) ? [newest] : []; // whatever is older was superseded when the newest began
}

function continued(session: AnySession, { continues }: EvaluateOptions, place: Place): string | undefined {
  if (continues === undefined || continues === false) return undefined;
  if (continues === true) return getLatestEvaluation(session, { conversationId: place.conversationId })?.id;
  if (session.state.record.evaluations.has(continues)) return continues;
  throw new HoldfastError('CONVERSATION_NOT_FOUND', `session ${session.id} has no evaluation ${continues} to continue`);
}

/** The answer of an evaluation that has ended, from the log (D14). */
async function recordedAnswer(
  session: AnySession,
  prompt: Prompt<unknown>,
  evaluation: Evaluation,
): Promise<EvaluationResponse<unknown>> {
  if (evaluation.status === 'failed') {
    const { code, message } = evaluation.error ?? { code: 'EVALUATION_FAILED', message: 'it failed' };
    throw new HoldfastError(code, `evaluation ${evaluation.id} failed: ${message}; start a new one`);
  }
  if (!prompt.output) return respond(session, evaluation.id, {});
  const answer = lastAnswer(evaluation);
  const checked = answer && (await checkOutput(prompt.output.schema, answer));
  if (!checked?.ok) {
    throw new HoldfastError(
      'OUTPUT_INVALID',
      `the recorded answer of evaluation ${evaluation.id} does not fit the output schema: ${checked?.problem ?? 'there is none'}; evaluate again`,
    );
  }
  return respond(session, evaluation.id, { output: checked.value });
}

function respond(
  session: AnySession,
  evaluationId: string,
  rest: Partial<EvaluationResponse<unknown>>,
): EvaluationResponse<unknown> {
  const evaluation = session.state.record.evaluations.get(evaluationId);
  const answer = evaluation && lastAnswer(evaluation);
  return {
    status: 'completed',
    evaluationId,
    sessionId: session.id,
    text: answer ? textOf(answer) : '',
    output: undefined,
    pending: [],
    usage: evaluation?.totalUsage ?? { inputTokens: 0, outputTokens: 0 },
    turns: evaluation?.turn ?? 0,
    ...rest,
  };
}

function lastAnswer(evaluation: Evaluation): ConversationMessage | undefined {
  for (let i = evaluation.messages.length - 1; i >= 0; i--) {
    const message = evaluation.messages.at(i);
    if (message?.role === 'assistant') return message;
  }
  return undefined;
}
