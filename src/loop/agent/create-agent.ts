import type { StandardSchemaV1 } from '@standard-schema/spec';
import { HoldfastError } from '../../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import { AGENT_NS, agentName } from '../../core/log/agent-name.ts';
import { definePrompt, type OutputOf, type PromptDefinition } from '../define/define-prompt.ts';
import { type AdapterOptions, createAdapter, streamEvents } from '../evaluate/create-adapter.ts';
import type { ProviderAdapter } from '../evaluate/provider-adapter.ts';
import type { Agent, AgentDefaults, AgentRunOptions } from './agent.ts';
import { type AgentListener, runAgent } from './run-agent.ts';

/** Who an agent is: a name, or a namespace and a key. */
type AgentIdentity =
  | { readonly name: string; readonly ns?: never; readonly key?: never }
  | { readonly ns: string; readonly key: string; readonly name?: never };

/** What an agent runs on: a model, in our own loop, or an adapter, such as an agent with a loop of its own. */
type AgentEngine =
  | (AdapterOptions & { readonly adapter?: never })
  | ({ readonly adapter: ProviderAdapter } & { readonly [Name in keyof AdapterOptions]?: never });

/** Options of `createAgent`: what the agent is, what it runs on, and the defaults of its runs. */
export type AgentOptions<Schema extends StandardSchemaV1 | undefined = undefined> = AgentIdentity &
  AgentEngine &
  Omit<PromptDefinition<Schema>, 'ns' | 'key'> &
  AgentDefaults & {
    /** Called with every event of every session that this agent runs, as it happens. */
    readonly onEvent?: AgentListener;
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
const KNOWN = { ...PROMPT, ...ADAPTER, ...DEFAULTS, name: true, adapter: true, onEvent: true } as const;
const NAME = /^[\w.:-]{1,200}$/;

/** Creates an agent: a model or an adapter, bound to instructions, tools, an output and the defaults of its runs (D80). */
export function createAgent<Schema extends StandardSchemaV1 | undefined = undefined>(
  options: AgentOptions<Schema>,
): Agent<OutputOf<Schema>> {
  refuseUnknownOptions('createAgent', options, KNOWN);
  const adapter = adapterOf(options);
  const prompt = definePrompt({ ...pick(options, PROMPT), ...identityOf(options) } as PromptDefinition<Schema>);
  const agent: Agent<OutputOf<Schema>> = {
    name: agentName(prompt),
    prompt,
    adapter,
    defaults: pick(options, DEFAULTS) as AgentDefaults,
    run: (session, input, given = {}) => runAgent(agent, session, { input, options: given, listener: options.onEvent }),
    stream: (session, input, given = {}) =>
      streamEvents(
        (onEvent) =>
          runAgent(agent, session, {
            input,
            options: { ...given, onEvent } as AgentRunOptions,
            listener: options.onEvent,
          }),
        given.onEvent,
      ),
  };
  return agent;
}

function adapterOf(options: AgentOptions<StandardSchemaV1 | undefined>): ProviderAdapter {
  const { adapter } = options;
  const given = Object.keys(pick(options, ADAPTER));
  if (!adapter) return createAdapter(pick(options, { ...ADAPTER }) as unknown as AdapterOptions);
  if (given.length === 0) return adapter;
  const what = given.join(', ');
  throw new HoldfastError('INVALID_ARGUMENT', `createAgent takes a model or an adapter; give ${what} to the adapter`);
}

function identityOf({ name, ns, key }: AgentIdentity): { readonly ns: string; readonly key: string } {
  if (name === undefined && ns !== undefined && key !== undefined) return { ns, key };
  if (name === undefined || ns !== undefined || key !== undefined) {
    throw new HoldfastError('INVALID_ARGUMENT', 'createAgent needs a name, or ns and key instead of it');
  }
  if (!NAME.test(name)) {
    throw new HoldfastError('INVALID_ARGUMENT', `the name of an agent is up to 200 letters, digits, _, -, . and :`);
  }
  return { ns: AGENT_NS, key: name };
}

/** The given options of these names. */
function pick(options: object, names: Readonly<Record<string, true>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(options).filter(([name, value]) => Object.hasOwn(names, name) && value !== undefined),
  );
}
