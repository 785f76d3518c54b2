import { setTimeout as sleep } from 'node:timers/promises';
import { styleText } from 'node:util';
import type { AgentOptions } from './agent-process.ts';
import type { AgentRegistry } from './agent-registry.ts';
import { SESSION_ID } from './assistant.ts';
import { summarize } from './summary.ts';
import { type AgentOutcome, giveUp, KILLS, watchAgent } from './watch-agent.ts';

/** A person can see that the process is dead before the next one starts. */
export const RESTART_MS = 1500;

/** The person who watches the job in Studio, and may kill its agent, too. */
export interface Audience {
  readonly registry: AgentRegistry;
  /** Starts nothing more when it aborts. */
  readonly signal: AbortSignal;
}

/**
 * Files the expenses, with our kills and those of the person, and prints the summary. Returns whether everything was as it should be; undefined
 * when the job did not come to its end.
 */
export async function firstJob(
  agent: AgentOptions,
  { root, audience }: { readonly root: string; readonly audience?: Audience },
): Promise<boolean | undefined> {
  const began = performance.now();
  let outcome: AgentOutcome;
  let kills = 0;
  let ours = 0;
  do {
    if (audience && kills > 0) await sleep(RESTART_MS, undefined, { signal: audience.signal }).catch(() => {});
    if (audience?.signal.aborted) return undefined;
    outcome = await watchAgent(agent, {
      kill: KILLS[ours],
      onStart: (started) => audience?.registry.started(SESSION_ID, started),
    });
    const isKilled = outcome === undefined || outcome === 'killed';
    audience?.registry.ended(SESSION_ID, isKilled ? 'killed' : 'ended');
    if (audience?.signal.aborted) return undefined;
    if (isKilled) kills++;
    if (outcome === 'killed') ours++;
    else if (isKilled && audience) console.log(`\n  ${styleText('red', '✗ SIGKILL')} by you\n`);
  } while (outcome === 'killed' || (outcome === undefined && audience));
  const isKilledEnough = audience !== undefined || ours === KILLS.length;
  if (outcome?.type !== 'done' || outcome.status !== 'completed' || !isKilledEnough) {
    giveUp(outcome);
    return undefined;
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`\n${styleText('green', '✓')} ${styleText('bold', 'done')} ${styleText('dim', `in ${seconds} s`)}\n`);
  try {
    return await summarize(agent, root, kills);
  } catch (error) {
    if (audience?.signal.aborted) return undefined; // the run that it compares with was killed, too
    throw error;
  }
}
