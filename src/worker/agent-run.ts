import type { Prompt } from '../loop/define/define-prompt.ts';
import type { ProviderAdapter, RunOptions } from '../loop/evaluate/provider-adapter.ts';
import type { AnySession } from '../session/session.ts';

/** What runs a session: an adapter, a prompt, and options of `run`. */
export interface AgentRun extends Omit<RunOptions, 'session' | 'signal' | 'wait'> {
  readonly adapter: ProviderAdapter;
  readonly prompt: Prompt<unknown>;
}

/** Chooses what runs a session; `undefined` leaves it to other processes. */
export type Agents = (session: AnySession) => AgentRun | undefined | Promise<AgentRun | undefined>;
