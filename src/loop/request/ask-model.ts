import { messageOf } from '../../core/errors.ts';
import { frozenCopy } from '../../core/frozen.ts';
import type { MessageRecorded, NewEvent, Without } from '../../core/log/events.ts';
import { isRecord } from '../../core/log/message-problem.ts';
import {
  type AssistantMessage,
  type ConversationMessage,
  callKey,
  callsOf,
  type ToolCall,
} from '../../core/log/messages.ts';
import { ModelError, type ModelRequest, type ModelResponse, type ModelTool } from '../../ports/model.ts';
import { plainCopy } from '../../session/append/plain-copy.ts';
import { validateEvent } from '../../session/append/validate-event.ts';
import { type Prepared, prepareCall } from '../calls/prepare-call.ts';
import { approvalRequest } from '../calls/request-approval.ts';
import { startEvent } from '../calls/run-call.ts';
import type { Prompt } from '../define/define-prompt.ts';
import { currentEvaluation, ENVELOPE, messageBase, nowOf, type Run, record } from '../evaluate/run.ts';
import { Suspension } from '../evaluate/suspension.ts';
import { checkOutput, correction } from './finish.ts';
import { pause } from './pause.ts';
import { withCost } from './prices.ts';
import { recordedMetadata } from './provider-metadata.ts';
import { checkBudget, pricesOf } from './spending.ts';
import { streamResponse } from './stream-response.ts';

/**
 * One model call: the request that is sent, and the response that is recorded. The response, the starts of its calls and, when it is
 * final, the end of the evaluation are one append: a crash leaves all of it or none (D7, D9).
 */
export async function askModel(run: Run, turn: number): Promise<void> {
  const { prompt } = run;
  checkBudget(run, turn);
  const { response: received, events } = await receiveResponse(run, turn);
  const copied = plainCopy(received, { lenient: true });
  const response = (copied.value ?? {}) as ModelResponse;
  const { recordProviderMetadata: setting } = run;
  const metadata = setting ? await recordedMetadata(response.providerMetadata, setting) : undefined;
  const recorded = responseEvent(run, turn, response, metadata);
  const { message } = recorded;
  const own = callsOf(message);
  if (own.length === 0) {
    const wrong = prompt.output && (await checkOutput(prompt.output.schema, message));
    const after = wrong?.ok === false ? correction(run, message, wrong.problem) : completed(run);
    if (!after.some(({ type }) => type === 'message/recorded')) void run.history.close(); // no summary is recorded after the end
    await recordResponse(run, [...events, recorded, ...after]);
    return;
  }
  const { starting, requests } = await callsToStart(run, turn, own);
  const starts = starting.map(({ call: { callId, name }, prepared }) =>
    startEvent(run, { turn, callId, name }, prepared.tool, 1),
  );
  const plain = events.length === 0 ? copied.characters + ENVELOPE : undefined;
  await recordResponse(run, [...events, recorded, ...starts, ...requests], plain);
  for (const { call, prepared } of starting) {
    run.startedHere.set(callKey({ evaluationId: run.evaluationId, turn, callId: call.callId }), prepared);
  }
}

/** The event of a response. Throws `EVENT_INVALID` when it is malformed: a model may be third-party code. */
function responseEvent(
  run: Run,
  turn: number,
  response: ModelResponse,
  providerMetadata: AssistantMessage['providerMetadata'],
): ResponseRecorded {
  const evaluation = currentEvaluation(run);
  const toolCalls = distinctIds(response.toolCalls ?? [], turn);
  const message: AssistantMessage = {
    ...messageBase(evaluation, { sequence: evaluation.nextSequence, turn }, nowOf(run)),
    role: 'assistant',
    content: response.content,
    ...(toolCalls.length !== 0 && { toolCalls }),
    ...(response.providerMessageId !== undefined && { providerMessageId: response.providerMessageId }),
    ...(providerMetadata && { providerMetadata }),
  };
  const event: ResponseRecorded = {
    type: 'message/recorded',
    message,
    ...(response.usage && { usage: withCost(response.usage, pricesOf(run), [response.model, run.model.modelId]) }),
    ...(response.model !== undefined && { model: response.model }),
    ...(response.finishReason !== undefined && { finishReason: response.finishReason }),
  };
  validateEvent(event);
  return event;
}

type ResponseRecorded = Without<MessageRecorded, 'seq' | 'at'> & { readonly message: AssistantMessage };

/** Records a response with the events that go with it, and ends its draft. */
async function recordResponse(run: Run, events: readonly Without<NewEvent, 'at'>[], plain?: number): Promise<void> {
  const ending = run.draft?.end();
  const endsDrafts = ending && (await ending);
  await record(run, events, endsDrafts ? { now: true, plain, endsDrafts } : { now: true, plain });
  run.draft = undefined;
  run.attempts = 0;
}

function completed(run: Run): readonly Without<NewEvent, 'at'>[] {
  return [{ type: 'evaluation/completed', evaluationId: run.evaluationId }];
}

/** The events that are recorded with a response: starts of calls that run at once, and requests for approval (D67). */
async function callsToStart(
  run: Run,
  turn: number,
  calls: readonly ToolCall[],
): Promise<{
  readonly starting: readonly { readonly call: ToolCall; readonly prepared: Prepared }[];
  readonly requests: readonly Without<NewEvent, 'at'>[];
}> {
  const { evaluationId } = run;
  const { maxParallelCalls = Number.POSITIVE_INFINITY } = run.options;
  const starting: { readonly call: ToolCall; readonly prepared: Prepared }[] = [];
  const requests: Without<NewEvent, 'at'>[] = [];
  for (const [i, call] of calls.entries()) {
    // What has to wait for its turn is started then; a person may approve it now.
    if (i >= maxParallelCalls && !run.prompt.tools.find(({ name }) => name === call.name)?.needsApproval) continue;
    const preparing = prepareCall(run.prompt, call);
    const prepared = preparing instanceof Promise ? await preparing : preparing;
    if (!prepared.ok) continue;
    const approval = prepared.tool.needsApproval && (await prepared.needsApproval());
    if (approval) requests.push(approvalRequest(run, { ...call, evaluationId, turn }, approval));
    else if (i < maxParallelCalls && prepared.tool.effect !== 'read') starting.push({ call, prepared });
  }
  return { starting, requests };
}

function requestFor(run: Run, turn: number, messages: readonly ConversationMessage[]): ModelRequest {
  const { prompt, aborter } = run;
  const tools = toolsOf(prompt);
  return {
    messages,
    turn,
    evaluationId: run.evaluationId,
    prompt: { ns: prompt.ns, key: prompt.key },
    ...(tools.length > 0 && { tools }),
    ...(prompt.output && { output: { name: outputName(prompt.key), schema: prompt.output.jsonSchema } }),
    signal: aborter.signal,
  };
}

const modelTools = new WeakMap<Prompt<unknown>, readonly ModelTool[]>();

/** A prompt's tools as they are sent to a model: the same list for every request. */
function toolsOf(prompt: Prompt<unknown>): readonly ModelTool[] {
  let tools = modelTools.get(prompt);
  if (!tools) {
    // Frozen: a model must not change other requests.
    tools = frozenCopy(
      prompt.tools.map(({ name, description, jsonSchema, provider }) => ({
        name,
        description,
        inputSchema: jsonSchema,
        ...(provider && { provider }),
      })),
    );
    modelTools.set(prompt, tools);
  }
  return tools;
}

function outputName(key: string): string {
  return key.replace(/[^\w-]/g, '_').slice(0, 64);
}

const BASE_WAIT_MS = 500;
const MAX_WAIT_MS = 30_000;

/**
 * Asks until there is a response; a provider that keeps failing suspends the evaluation. Builds the request again for every attempt: a
 * message may have been erased during the backoff (D58). A request that the provider rejects as too long is curated harder and sent
 * once more, and the log records that.
 */
async function receiveResponse(
  run: Run,
  turn: number,
): Promise<{ readonly response: ModelResponse; readonly events: readonly Without<NewEvent, 'at'>[] }> {
  const { aborter, maxModelRetries, evaluationId } = run;
  for (let failures = 0; ; ) {
    const choosing = run.history.next(run, turn);
    const { messages, events } = choosing instanceof Promise ? await choosing : choosing;
    try {
      const response = await streamResponse(run, requestFor(run, turn, messages));
      return { response, events: events() };
    } catch (error) {
      aborter.check(); // the deadline, a cancellation or another holder: not the provider's fault
      if (error instanceof ModelError && error.tooLong) {
        if ((await run.history.refused(run, turn, error)) === undefined) throw tooLong(error);
        continue;
      }
      const retryable = error instanceof ModelError && error.retryable;
      if (!retryable || failures >= maxModelRetries) {
        const tried = failures > 0 ? ` after ${failures + 1} tries` : '';
        throw new Suspension(
          'PROVIDER_FAILED',
          `the model did not respond${tried}: ${messageOf(error)}; resume to ask again`,
          { cause: error },
        );
      }
      const { retryAfterMs } = error;
      if (retryAfterMs !== undefined && retryAfterMs > run.maxProviderWaitMs) throw limited(run, error, retryAfterMs);
      const backoff = Math.min(MAX_WAIT_MS, BASE_WAIT_MS * 2 ** failures) * (0.5 + run.random() / 2);
      const waitMs = Math.round(retryAfterMs ?? backoff);
      failures++;
      run.emit?.({
        type: 'model/retried',
        evaluationId,
        turn,
        attempt: failures,
        waitMs,
        error: messageOf(error),
      });
      await pause(run.session.clock, waitMs, aborter.signal);
    }
  }
}

/** The provider names a time that is too far away to keep a process waiting: the log has the wake-up (D78). */
function limited(run: Run, error: ModelError, retryAfterMs: number): Suspension {
  const until = new Date(Math.min(run.session.clock.now() + retryAfterMs, LATEST)).toISOString();
  const message = `the provider refuses requests until ${until}: ${error.message}; a worker or the next run continues then`;
  return new Suspension('PROVIDER_FAILED', message, { cause: error, until });
}

/** The latest time that a date can hold. */
const LATEST = 8.64e15;

function tooLong(error: ModelError): Suspension {
  return new Suspension(
    'PROVIDER_FAILED',
    `the model refused the request as too long, and a shorter one was refused or could not be made: ${error.message}; ` +
      'resume with a history manager such as slidingWindow or summarize, with limits.maxTokens, or with a model that reads more',
    { cause: error },
  );
}

/** Calls with ids of their own: providers omit them and repeat them (D11). */
function distinctIds(calls: readonly ToolCall[], turn: number): readonly ToolCall[] {
  if (!Array.isArray(calls) || (calls as readonly unknown[]).some((call) => !isRecord(call))) return calls; // soon refused
  const seen = new Set<string>();
  return calls.map((call, i) => {
    const wanted = call.callId || `call_${turn}_${i + 1}`;
    let callId = wanted;
    for (let n = 2; seen.has(callId); n++) callId = `${wanted}_${n}`;
    seen.add(callId);
    return callId === call.callId ? call : { ...call, callId };
  });
}
