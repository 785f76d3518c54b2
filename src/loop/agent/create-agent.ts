import type { StandardSchemaV1 } from '@standard-schema/spec';
import { HoldfastError } from '../../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import { AGENT_NS, agentName } from '../../core/log/agent-name.ts';
import { definePrompt, type OutputOf, type Prompt, type PromptDefinition } from '../define/define-prompt.ts';
import { checkOptions } from '../evaluate/check-options.ts';
import { type AdapterOptions, createAdapter, streamEvents } from '../evaluate/create-adapter.ts';
import type { EvaluateOptions, ProviderAdapter } from '../evaluate/provider-adapter.ts';
import type { Agent, AgentDefaults, AgentListener, AgentRunOptions } from './agent.ts';
import { runAgent } from './run-agent.ts';

/** Who an agent is: a name, or a namespace and a key. */
type AgentIdentity =
  | { readonly name: string; readonly ns?: never; readonly key?: never }
  | { readonly ns: string; readonly key: string; readonly name?: never };

/** What an agent runs on: a model, in our own loop, or an adapter, such as an agent with a loop of its own. */
type AgentEngine =
  | (AdapterOptions & { readonly adapter?: never })
  | ({ readonly adapter: ProviderAdapter } & { readonly [Name in keyof AdapterOptions]?: never });

/** What is the same for every agent. */
type AgentBase = AgentEngine &
  AgentDefaults & {
    /** Called with every event of every session that this agent runs, as it happens. */
    readonly onEvent?: AgentListener;
  };

/** Options of `createAgent`: what the agent is, what it runs on, and the defaults of its runs. */
export type AgentOptions<Schema extends StandardSchemaV1 | undefined = undefined> = AgentBase &
  AgentIdentity &
  Omit<PromptDefinition<Schema>, 'ns' | 'key'> & { readonly prompt?: never };

/** The same for a prompt of `definePrompt`, which names the agent. */
export type PromptAgentOptions<Output> = AgentBase & { readonly prompt: Prompt<Output> } & {
  readonly [Name in 'name' | keyof PromptDefinition<undefined>]?: never;
};

const ADAPTER: KnownOptions<Omit<AdapterOptions, 'prices' | 'recordProviderMetadata'>> = {
  model: true,
  summaryModel: true,
  maxModelRetries: true,
  maxProviderWaitMs: true,
  maxBlockedMs: true,
  leaseTtlMs: true,
  random: true,
};
const PROMPT: KnownOptions<PromptDefinition<undefined>> = {
  ns: true,
  key: true,
  instructions: true,
  tools: true,
  output: true,
  outputJsonSchema: true,
};
const DEFAULTS: KnownOptions<AgentDefaults> = {
  params: true,
  promptValidation: true,
  history: true,
  limits: true,
  budget: true,
  prices: true,
  maxTurns: true,
  maxParallelCalls: true,
  recordProviderMetadata: true,
  outputRetries: true,
};
const KNOWN = { ...PROMPT, ...ADAPTER, ...DEFAULTS, name: true, prompt: true, adapter: true, onEvent: true } as const;
const NAME = /^[\w.:-]{1,200}$/;

/** Creates an agent: a model or an adapter, bound to instructions, tools, an output and the defaults of its runs. */
export function createAgent<Schema extends StandardSchemaV1 | undefined = undefined>(
  options: AgentOptions<Schema>,
): Agent<OutputOf<Schema>>;
export function createAgent<Output>(options: PromptAgentOptions<Output>): Agent<Output>;
export function createAgent(
  options: AgentOptions<StandardSchemaV1 | undefined> | PromptAgentOptions<unknown>,
): Agent<unknown> {
  if (options === undefined) throw invalid('createAgent needs options: { name, model, instructions }');
  refuseUnknownOptions('createAgent', options, KNOWN);
  const { onEvent } = options;
  const prompt = promptOf(options);
  const defaults = pick(options, DEFAULTS) as AgentDefaults;
  checkOptions({ ...defaults, ...(onEvent && { onEvent }) } as EvaluateOptions, 'createAgent');
  const agent: Agent<unknown> = {
    name: agentName(prompt),
    prompt,
    adapter: adapterOf(options),
    defaults,
    ...(onEvent && { onEvent }),
    run: (session, input, given = {}) => runAgent(agent, session, input, given as AgentRunOptions),
    stream: (session, input, given = {}) =>
      streamEvents(
        (listener) => runAgent(agent, session, input, (given && { ...given, onEvent: listener }) as AgentRunOptions),
        given?.onEvent,
      ),
  };
  return Object.freeze(agent);
}

function promptOf(options: AgentOptions<StandardSchemaV1 | undefined> | PromptAgentOptions<unknown>): Prompt<unknown> {
  const { prompt } = options;
  const given = pick(options, PROMPT);
  if (prompt === undefined) {
    return definePrompt({ ...given, ...identityOf(options) } as PromptDefinition<StandardSchemaV1>);
  }
  if (typeof prompt?.hash !== 'string') throw invalid('the prompt of createAgent is what definePrompt returns');
  checkNames(prompt);
  const names = [...(options.name === undefined ? [] : ['name']), ...Object.keys(given)];
  if (names.length === 0) return prompt;
  throw invalid(`the prompt of createAgent has its own ${names.join(', ')}; leave them out`);
}

function adapterOf(options: AgentEngine): ProviderAdapter {
  const { adapter } = options;
  const given = Object.keys(pick(options, ADAPTER));
  if (adapter === undefined) return createAdapter(pick(options, ADAPTER) as unknown as AdapterOptions);
  if (given.length > 0)
    throw invalid(`createAgent takes a model or an adapter; give ${given.join(', ')} to the adapter`);
  if (typeof adapter?.run !== 'function') throw invalid('the adapter of createAgent is what createAdapter returns');
  return adapter;
}

function identityOf({ name, ns, key }: AgentIdentity): { readonly ns: string; readonly key: string } {
  if (name === undefined && ns !== undefined && key !== undefined) return checkNames({ ns, key });
  if (name === undefined || ns !== undefined || key !== undefined) {
    throw invalid('createAgent needs a name, or ns and key, or a prompt of definePrompt');
  }
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw invalid('the name of an agent is up to 200 letters, digits, _, -, . and :');
  }
  return { ns: AGENT_NS, key: name };
}

/** Throws for a namespace or key with a slash: it separates them in the agent's name, and two agents would have one name. */
function checkNames<Names extends { readonly ns: string; readonly key: string }>(names: Names): Names {
  if (![names.ns, names.key].some((name) => typeof name !== 'string' || name.includes('/'))) return names;
  throw invalid('the ns and the key of an agent are texts without a slash, which separates them in its name');
}

function invalid(why: string): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', why);
}

/** The given options of these names. */
function pick(options: object, names: Readonly<Record<string, true>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(options).filter(([name, value]) => Object.hasOwn(names, name) && value !== undefined),
  );
}
