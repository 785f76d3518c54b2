import type { LanguageModelV4CallOptions, LanguageModelV4Message, SharedV4ProviderOptions } from '@ai-sdk/provider';
import { HoldfastError } from '../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../core/known-options.ts';
import type { AssistantMessage, ConversationMessage } from '../core/log/messages.ts';
import { type Model, ModelError, type ModelPart, type ModelRequest } from '../ports/model.ts';
import { toModelError } from './ai-sdk/model-error.ts';
import { toPrompt } from './ai-sdk/prompt.ts';
import { type ProviderRules, rulesOf } from './ai-sdk/provider-rules.ts';
import { ResponseCollector, type StreamPart } from './ai-sdk/response.ts';
import { optionsFor, SPECIFICATION_VERSIONS, type SpecificationVersion } from './ai-sdk/versions.ts';
import { isStrictSchema } from './closed-schema.ts';
import { untilAborted } from './until-aborted.ts';

/**
 * Any language model of the AI SDK as a `Model`. It speaks the provider specification itself (`doStream`), so a provider
 * package such as `@ai-sdk/anthropic` is all that is needed; `ai` is not.
 */

/** A language model object of the AI SDK, of any supported version of its provider specification. */
export interface AiSdkLanguageModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{
    readonly stream: { getReader(): { read(): Promise<unknown>; cancel(reason?: unknown): Promise<void> } };
  }>;
}

/** A tool that a provider defines and runs, as provider packages make them: `anthropic.tools.webSearch_20250305({ … })`. */
export interface ProviderTool {
  readonly id: string;
  readonly args: object;
}

/** Settings that go with every request to a language model. Absent ones are left to the provider. */
export interface AiSdkModelOptions {
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
  /** How hard to think, where the provider knows such a setting. */
  readonly reasoning?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
  /** By provider, as the AI SDK documents them. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Tools that the provider runs itself, by the name the model calls them. They are recorded and replayed, never run here. */
  readonly tools?: Readonly<Record<string, ProviderTool>>;
  /** Receives what the provider could not do as requested. */
  readonly onWarning?: (warning: unknown) => void;
}

const KNOWN: KnownOptions<AiSdkModelOptions> = {
  maxOutputTokens: true,
  temperature: true,
  topP: true,
  topK: true,
  presencePenalty: true,
  frequencyPenalty: true,
  stopSequences: true,
  seed: true,
  reasoning: true,
  providerOptions: true,
  headers: true,
  tools: true,
  onWarning: true,
};

/** How often a provider may pause one turn and be called again to continue it. */
const MAX_PAUSES = 16;

/**
 * Makes a `Model` of an AI SDK language model.
 *
 * Reasoning and other data that a provider wants back is sent to the provider that returned it, signed reasoning only to the same
 * model; if the provider refuses it, the request is sent once more without it. OpenAI's Responses API is
 * called with `store: false`, because the log has it and the provider's copy expires.
 */
export function aiSdkModel(languageModel: AiSdkLanguageModel, options: AiSdkModelOptions = {}): Model {
  refuseUnknownOptions('aiSdkModel', options, KNOWN);
  const version = versionOf(languageModel);
  const { provider, modelId } = languageModel;
  const rules = rulesOf(provider, modelId);
  return {
    provider,
    modelId,
    async *stream(request) {
      request.signal?.throwIfAborted();
      const context = { languageModel, version, options, rules, request };
      const collector = new ResponseCollector({ rules, turn: request.turn });
      const paused: ConversationMessage[] = [];
      for (let pauses = 0; ; pauses++) {
        const opened = await open(context, [...request.messages, ...paused]);
        yield* readParts(context, opened, collector);
        if (collector.finish?.raw !== 'pause_turn' || pauses === MAX_PAUSES) break;
        paused.length = 0;
        paused.push(pausedMessage(collector, request));
        collector.continue();
      }
      yield { type: 'finish', response: collector.response() };
    },
  };
}

/** Whether a value is a language model object of the AI SDK. */
export function isAiSdkModel(value: unknown): value is AiSdkLanguageModel {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { specificationVersion?: unknown }).specificationVersion === 'string' &&
    typeof (value as { doStream?: unknown }).doStream === 'function'
  );
}

/** A `Model` as it is, an AI SDK language model wrapped. Anything else is an error that says what to pass. */
export function toModel(value: Model | AiSdkLanguageModel): Model {
  if (isAiSdkModel(value)) return aiSdkModel(value);
  if (typeof value === 'object' && value !== null && typeof value.stream === 'function') return value;
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    typeof value === 'string'
      ? `"${value as string}" is the name of a model; pass a model object, such as openai('${value as string}') from @ai-sdk/openai`
      : 'that is no model; pass an AI SDK language model, scriptedModel(…) or your own object with a stream method',
  );
}

function versionOf(languageModel: AiSdkLanguageModel): SpecificationVersion {
  if (!isAiSdkModel(languageModel)) {
    toModel(languageModel);
    throw new HoldfastError('INVALID_ARGUMENT', 'that is a Holdfast model already; pass it as it is');
  }
  const version = SPECIFICATION_VERSIONS.find((known) => known === languageModel.specificationVersion);
  if (version) return version;
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `${languageModel.provider} implements version ${languageModel.specificationVersion} of the AI SDK's provider ` +
      `specification, and ${SPECIFICATION_VERSIONS.join(', ')} are understood; install another version of that provider`,
  );
}

type Opened = Awaited<ReturnType<AiSdkLanguageModel['doStream']>>;

/** One request of one model. */
interface RequestContext {
  readonly languageModel: AiSdkLanguageModel;
  readonly version: SpecificationVersion;
  readonly options: AiSdkModelOptions;
  readonly rules: ProviderRules;
  readonly request: ModelRequest;
}

/** Opens the stream; when the provider refuses the reasoning that is sent back, opens it once more without reasoning. */
async function open(context: RequestContext, messages: readonly ConversationMessage[]): Promise<Opened> {
  const { languageModel, version, rules } = context;
  const { signal } = context.request;
  const ask = async (prompt: LanguageModelV4Message[]): Promise<Opened> => {
    const callOptions = optionsFor(version, callOptionsFor(context, prompt));
    const asked = Promise.resolve(languageModel.doStream(callOptions as never));
    try {
      return await untilAborted(asked, signal);
    } catch (error) {
      if (signal?.aborted) asked.then(({ stream }) => stream.getReader().cancel()).catch(() => undefined);
      signal?.throwIfAborted();
      throw toModelError(error, { streaming: false });
    }
  };
  const prompt = toPrompt(messages, rules);
  try {
    return await ask(prompt);
  } catch (error) {
    const refused =
      error instanceof ModelError && error.status === 400 && !error.tooLong && REASONING_REFUSED.test(error.message);
    if (!refused || !prompt.some(hasReasoning)) throw error;
    return ask(toPrompt(messages, rules, { reasoning: false }));
  }
}

/** A signature is bound to a model, an account and everything before it; a history that was cut invalidates it. */
const REASONING_REFUSED = /thinking|signature|reasoning|encrypted/i;

function hasReasoning({ role, content }: LanguageModelV4Message): boolean {
  return role === 'assistant' && content.some((part) => part.type === 'reasoning');
}

async function* readParts(
  { options, request: { signal } }: RequestContext,
  opened: Opened,
  collector: ResponseCollector,
): AsyncIterable<ModelPart> {
  const reader = opened.stream.getReader();
  // Ends a read that is waiting, even if the provider does not heed the signal.
  const cancel = (): void => void reader.cancel(signal?.reason).catch(() => undefined);
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    while (true) {
      const { done, value } = (await reader.read()) as { done: boolean; value: StreamPart };
      signal?.throwIfAborted();
      if (done) break;
      if (value.type === 'error') throw value.error;
      if (value.type === 'stream-start') for (const warning of value.warnings) options.onWarning?.(warning);
      yield* collector.receive(value);
    }
    if (!collector.finish || collector.finish.cut) {
      throw new ModelError('the connection ended before the response did', { retryable: true });
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw toModelError(error, { streaming: true });
  } finally {
    signal?.removeEventListener('abort', cancel);
    cancel();
  }
}

function callOptionsFor(
  { request, options, rules, languageModel: { provider } }: RequestContext,
  prompt: LanguageModelV4Message[],
): LanguageModelV4CallOptions {
  const { tools: providerTools = {}, providerOptions, onWarning: _, stopSequences, headers, ...settings } = options;
  const tools: NonNullable<LanguageModelV4CallOptions['tools']> = [];
  const fromProvider = (name: string, { id, args }: ProviderTool): void => {
    tools.push({ type: 'provider', id: id as `${string}.${string}`, name, args: { ...args } });
  };
  for (const { name, description, inputSchema, provider } of request.tools ?? []) {
    if (Object.hasOwn(providerTools, name)) continue;
    if (provider) fromProvider(name, provider);
    else tools.push({ type: 'function', name, description, inputSchema: { ...inputSchema } });
  }
  for (const [name, tool] of Object.entries(providerTools)) fromProvider(name, tool);
  const offered = tools.length > 0 || !rules.api.declaredTools ? tools : formerTools(prompt);
  const merged = { ...defaultsOf(provider, request) };
  for (const [key, value] of Object.entries(providerOptions ?? {})) merged[key] = { ...merged[key], ...value };
  const hasOptions = Object.values(merged).some((fields) => Object.keys(fields).length > 0);
  return {
    prompt,
    ...settings,
    ...(stopSequences ? { stopSequences: [...stopSequences] } : {}),
    ...(headers ? { headers: { ...headers } } : {}),
    ...(offered.length > 0 ? { tools: offered, toolChoice: { type: offered === tools ? 'auto' : 'none' } } : {}),
    ...(request.output
      ? { responseFormat: { type: 'json', name: request.output.name, schema: { ...request.output.schema } } }
      : {}),
    ...(request.signal ? { abortSignal: request.signal } : {}),
    ...(hasOptions ? { providerOptions: merged as SharedV4ProviderOptions } : {}),
  };
}

/** The tools that a history's calls name, for a request that offers none: declared, and not to be called. */
function formerTools(prompt: readonly LanguageModelV4Message[]): NonNullable<LanguageModelV4CallOptions['tools']> {
  const names = new Set<string>();
  for (const { role, content } of prompt) {
    if (role !== 'assistant') continue;
    for (const part of content) if (part.type === 'tool-call' && !part.providerExecuted) names.add(part.toolName);
  }
  return [...names].map((name) => ({
    type: 'function',
    name,
    description: 'No longer available.',
    inputSchema: { type: 'object', properties: {} },
  }));
}

/** What a durable conversation and our schemas need of a provider. */
function defaultsOf(provider: string, { output }: ModelRequest): Record<string, Record<string, unknown>> {
  const [family, api] = provider.split('.');
  if (family !== 'openai' && family !== 'azure') return {};
  return {
    [family]: {
      ...(api === 'responses' ? { store: false } : {}),
      // OpenAI refuses a schema with optional properties in strict mode, which is the client's default.
      ...(output && !isStrictSchema(output.schema) ? { strictJsonSchema: false } : {}),
    },
  };
}

/** A paused turn as a message: the content so far is sent back for the provider to continue. */
function pausedMessage(collector: ResponseCollector, request: ModelRequest): AssistantMessage {
  const { content, toolCalls } = collector.response();
  return {
    id: 'paused',
    evaluationId: request.evaluationId,
    conversationId: 'main',
    sequence: request.messages.length,
    turn: request.turn,
    promptNs: request.prompt.ns,
    promptKey: request.prompt.key,
    createdAt: '',
    role: 'assistant',
    content,
    toolCalls,
  };
}
