/** A small agent for the loop's tests: a session, a script, tools, and a check that every request is coherent (I4). */
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { z } from 'zod';
import {
  type AdapterOptions,
  createAdapter,
  definePrompt,
  type EvaluateOptions,
  type EvaluationResponse,
  type Prompt,
  type PromptDefinition,
  type ProviderAdapter,
} from '../../src/evaluate.ts';
import { checkCoherence } from '../../src/history/coherence/coherence.ts';
import {
  type AnySlice,
  type AnyTool,
  type Clock,
  defineTool,
  type EvaluationEvent,
  type Model,
  type ModelRequest,
  memoryStore,
  type OpenSessionOptions,
  openSession,
  type Script,
  type Session,
  type Store,
  scriptedModel,
  type ToolMessage,
  textOf,
} from '../../src/index.ts';
import type { FakeClock } from '../../src/testing/fake-clock.ts';

export interface AgentOptions {
  readonly script: Script | Model;
  readonly tools?: NonNullable<PromptDefinition<undefined>['tools']>;
  readonly output?: z.ZodType;
  readonly instructions?: string;
  readonly key?: string;
  readonly store?: Store;
  readonly id?: string;
  readonly clock?: Clock;
  readonly slices?: readonly AnySlice[];
  readonly adapter?: Partial<AdapterOptions>;
  readonly maxInlineLength?: number;
  readonly redact?: OpenSessionOptions['redact'];
  readonly redactText?: OpenSessionOptions['redactText'];
}

export interface Agent {
  readonly session: Session;
  readonly store: Store;
  readonly prompt: Prompt<unknown>;
  readonly adapter: ProviderAdapter;
  /** The requests to the model, in order. */
  readonly requests: ModelRequest[];
  /** Committed events and deltas, in order. */
  readonly events: EvaluationEvent[];
  evaluate(options?: EvaluateOptions): Promise<EvaluationResponse<unknown>>;
  /** The results of the newest evaluation by call id. */
  results(): Readonly<Record<string, ToolMessage>>;
}

/** Creates an agent. Another one on the same store and id acts as another process. */
export async function agent(options: AgentOptions): Promise<Agent> {
  const { store = memoryStore(), id = 'session', clock, slices = [], maxInlineLength, redact, redactText } = options;
  const requests: ModelRequest[] = [];
  const events: EvaluationEvent[] = [];
  const { script } = options;
  const model = listening('stream' in script ? script : scriptedModel(script), requests);
  const session = await openSession({
    store,
    id,
    slices,
    ...(clock && { clock }),
    ...(maxInlineLength !== undefined && { maxInlineLength }),
    ...(redact && { redact }),
    ...(redactText && { redactText }),
  });
  const prompt = definePrompt({
    ns: 'test',
    key: options.key ?? 'agent',
    instructions: options.instructions ?? 'Do it.',
    ...(options.tools && { tools: options.tools }),
    ...(options.output && { output: options.output }),
  });
  const adapter = createAdapter({ model, random: () => 0.5, ...options.adapter });
  onTestFinished(() => expectCoherent(requests));
  return {
    session,
    store,
    prompt,
    adapter,
    requests,
    events,
    evaluate: (more = {}) =>
      adapter.evaluate(prompt, { session, input: 'Please.', onEvent: (event) => events.push(event), ...more }),
    results: () => resultsOf(session),
  };
}

/** A model that records its requests. */
export function listening(model: Model, requests: ModelRequest[]): Model {
  return {
    provider: model.provider,
    modelId: model.modelId,
    stream(request) {
      requests.push(request);
      return model.stream(request);
    },
  };
}

/** Expects that every request is coherent (I4). */
export function expectCoherent(requests: readonly ModelRequest[]): void {
  for (const { messages } of requests) expect(checkCoherence(messages).violations).toEqual([]);
}

/** The results of the newest turn with calls, of any conversation, by call id. */
export function resultsOf(session: Session): Readonly<Record<string, ToolMessage>> {
  const results = session.state.record.messages.toArray().filter((message) => message.role === 'tool');
  return Object.fromEntries(results.map((message) => [message.toolCallId, message]));
}

/** The text of a call's result. */
export function resultText(session: Session, callId: string): string | undefined {
  const result = resultsOf(session)[callId];
  return result && textOf(result);
}

/** A tool that accepts any input. */
export function tool(name: string, execute: AnyTool['execute'], rest: Partial<AnyTool> = {}): AnyTool {
  return defineTool({ name, description: `Does ${name}`, input: z.looseObject({}), execute, ...rest });
}

/** An idempotent tool `work` whose first run lasts until its signal aborts; later runs return at once. */
export function toolUntilAborted(): {
  readonly work: AnyTool;
  readonly began: Promise<void>;
  readonly runs: () => number;
} {
  const began = deferred();
  let runs = 0;
  const work = tool(
    'work',
    (_, { signal }) => {
      if (++runs > 1) return 'worked';
      began.resolve();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
    { effect: 'idempotent' },
  );
  return { work, began: began.promise, runs: () => runs };
}

/** A call for a script. */
export function call(
  name: string,
  args: unknown = {},
  id?: string,
): { readonly name: string; readonly arguments: unknown; readonly id?: string } {
  return { name, arguments: args, ...(id !== undefined && { id }) };
}

/** Roles and texts of a conversation. */
export function said(session: Session, evaluationId?: string): readonly string[] {
  return session.messages({ evaluationId }).map((message) => `${message.role}: ${textOf(message)}`);
}

/** The types of the log's events, in order. */
export async function eventTypes(session: Session): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const event of session.events()) types.push(event.type);
  return types;
}

/** A promise with its `resolve` and `reject`. */
export function deferred<T = void>(): {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
} {
  return Promise.withResolvers<T>();
}

/** Advances the clock step by step until the promise has settled. */
export async function advancing<T>(clock: FakeClock, promise: Promise<T>, stepMs = 100): Promise<T> {
  let settled = false;
  const end = (): void => {
    settled = true;
  };
  promise.then(end, end);
  while (!settled) {
    await setImmediate();
    if (clock.waiting > 0 && !settled) clock.advance(stepMs);
  }
  return promise;
}
