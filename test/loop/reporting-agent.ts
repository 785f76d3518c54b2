/** An agent whose tool reports progress (D62). */
import { setImmediate } from 'node:timers/promises';
import { type AnyTool, type EvaluationEvent, isToolProgress } from '../../src/index.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { type Agent, type AgentOptions, agent, call, tool } from './agent.ts';

export interface Reporting extends Agent {
  readonly clock: FakeClock;
}

/** An agent whose only call is `work`, with the id c1. */
export async function reporting(
  execute: AnyTool['execute'],
  { rest, ...options }: Partial<AgentOptions> & { readonly rest?: Partial<AnyTool> } = {},
): Promise<Reporting> {
  const clock = fakeClock();
  const script = [{ toolCalls: [call('work', {}, 'c1')] }, 'done'];
  const made = await agent({ script, tools: [tool('work', execute, rest)], clock, ...options });
  return { ...made, clock };
}

/** Lets the drafts be written, and waits for that. */
export async function written({ clock }: { readonly clock: FakeClock }): Promise<void> {
  clock.advance(200);
  for (let i = 0; i < 20; i++) await setImmediate();
}

export const reports = (events: readonly EvaluationEvent[]): readonly object[] =>
  events.filter(isToolProgress).map(({ text, percent, data, offset }) => ({ text, percent, data, offset }));
