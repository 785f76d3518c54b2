import { HoldfastError } from '../../core/errors.ts';
import { agentOfStep } from '../../core/plan/input-outcome.ts';
import { planRun } from '../../core/plan/run-plan.ts';
import type { AnySession } from '../../session/session.ts';
import type { Agent } from './agent.ts';

/** The agents of a server or a worker: by name, or a function that chooses one; `undefined` leaves the session to other processes. */
export type Agents =
  | Readonly<Record<string, Agent<unknown>>>
  | ((session: AnySession) => Agent<unknown> | undefined | Promise<Agent<unknown> | undefined>);

/** Throws `INVALID_ARGUMENT` for agents that cannot be chosen from. */
export function checkAgents(what: string, agents: Agents): void {
  if (typeof agents === 'function') return;
  const prototype: unknown = typeof agents === 'object' && agents !== null ? Object.getPrototypeOf(agents) : undefined;
  if (prototype !== null && prototype !== Object.prototype) {
    throw new HoldfastError('INVALID_ARGUMENT', `${what} needs agents: { name: agent }, or a function of the session`);
  }
  for (const [name, agent] of Object.entries(agents)) {
    const isAgent = typeof agent?.run === 'function';
    if (isAgent && agent.name === name) continue;
    const is = isAgent ? `the agent "${agent.name}"` : 'no agent of createAgent';
    throw new HoldfastError('INVALID_ARGUMENT', `agents.${name} of ${what} is ${is}; the key must be the agent's name`);
  }
}

/** Throws `AGENT_UNKNOWN` for the name of no agent here; a function's agents cannot be listed. */
export function refuseUnknownAgent(agents: Agents | undefined, name: string | undefined): void {
  if (name === undefined || typeof agents !== 'object' || Object.hasOwn(agents, name)) return;
  throw new HoldfastError(
    'AGENT_UNKNOWN',
    `there is no agent ${JSON.stringify(name)} here; there is: ${namesOf(agents)}`,
  );
}

/**
 * The agent that does the next step of a session (D80): the open evaluation's, the one that the input names, the newest evaluation's, or
 * the only one. Throws `AGENT_UNKNOWN` when several could: it is never guessed.
 */
export async function chooseAgent(agents: Agents, session: AnySession): Promise<Agent<unknown> | undefined> {
  if (typeof agents === 'function') return agents(session);
  const step = planRun(session.state, { now: session.clock.now(), tried: new Set() });
  const name = agentOfStep(session.state, step);
  const all = Object.values(agents);
  if (name === undefined ? all.length === 1 : Object.hasOwn(agents, name)) {
    return name === undefined ? all[0] : agents[name];
  }
  const known = namesOf(agents);
  throw new HoldfastError(
    'AGENT_UNKNOWN',
    name === undefined
      ? `session ${session.id} does not say which agent runs it; send its input with { agent }, one of: ${known}`
      : `session ${session.id} is run by the agent "${name}", which this process does not have; it has: ${known}`,
  );
}

/** The error of a session whose next input names another agent than the one that a function has chosen. */
export function notChosen({ id }: AnySession, { name }: Agent<unknown>): HoldfastError {
  const why = `the next input of session ${id} is for another agent than "${name}", which was chosen for it`;
  return new HoldfastError('AGENT_UNKNOWN', `${why}; choose by session.queue()[0]?.agent, or give agents by name`);
}

function namesOf(agents: Readonly<Record<string, Agent<unknown>>>): string {
  return Object.keys(agents).join(', ') || 'none';
}
