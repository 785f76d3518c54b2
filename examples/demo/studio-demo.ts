/** The demo for a person: the same two kills, shown live by Studio, then a longer job whose agent the person kills with a button. */
import { once } from 'node:events';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { openStore } from 'holdfast';
import type { ServerOptions } from 'holdfast/server';
import type { AgentOptions } from './agent-process.ts';
import { AgentRegistry } from './agent-registry.ts';
import { SESSION_ID } from './assistant.ts';
import { firstJob } from './first-job.ts';
import { Supervisor } from './supervisor.ts';
import { TRIP_REQUEST } from './trip-rules.ts';

/** How fast a person reads. */
const WORD_MS = 60;

/** What the program that starts the demo does for it. */
export interface StudioHost {
  /** Aborts when the person ends the program. */
  readonly signal: AbortSignal;
  /** Serves Studio and shows a session to the person. Resolves with undefined when Studio cannot be served: it has said so. */
  serve(
    options: Pick<ServerOptions, 'store' | 'agents' | 'processes' | 'pollMs'>,
    sessionId: string,
  ): Promise<{ readonly address: string; close(): Promise<void> } | undefined>;
}

/** Runs the demo with Studio until the person ends it. Returns undefined when Studio cannot be served: the demo has not begun. */
export async function studioDemo(
  agent: AgentOptions,
  { root, studio }: { readonly root: string; readonly studio: StudioHost },
): Promise<'ended' | 'failed' | undefined> {
  const { signal } = studio;
  const store = await openStore(join(agent.dir, 'agent.db'));
  const registry = new AgentRegistry();
  const hasWork = async (id: string): Promise<boolean> =>
    (await store.listSessions({ work: true, idPrefix: id })).sessions.some((each) => each.id === id);
  const paced = { ...agent, wordMs: WORD_MS };
  const supervisor = new Supervisor({ agent: paced, registry, hasWork, signal });
  let isFirstJob = true;
  try {
    const session = await store.session(SESSION_ID);
    await session.describe({ title: 'Expenses and a trip' }); // a page can show it before the agent has begun
    const agents = ({ id }: { readonly id: string }): undefined => {
      if (!isFirstJob || id !== SESSION_ID) supervisor.wake(id);
    };
    const served = await studio.serve({ store, agents, processes: registry, pollMs: 500 }, SESSION_ID);
    if (!served) return undefined;
    try {
      const isSame = await firstJob(paced, { root, audience: { registry, signal } });
      isFirstJob = false;
      if (isSame !== undefined && !signal.aborted) {
        announceSecondJob(served.address);
        await session.send(TRIP_REQUEST, { by: 'holdfast demo' });
        supervisor.wake(SESSION_ID);
      } else if (!signal.aborted) return 'failed';
      if (!signal.aborted) await once(signal, 'abort');
    } finally {
      await served.close();
      await supervisor.close();
    }
    return 'ended';
  } finally {
    await store.close();
  }
}

function announceSecondJob(address: string): void {
  const [now, kill] = [styleText('bold', 'Now it is your turn'), styleText('bold', 'Kill')];
  console.log(`\n${now}: the agent plans a trip. In Studio, ${styleText('cyan', address)}`);
  for (const [what, how] of [
    [
      'kill',
      `press ${kill} whenever you like: its process gets SIGKILL, a new one resumes, and no finished tool runs again`,
    ],
    ['approve', 'it asks before it books a hotel'],
    ['write', 'to the agent, while it works or afterwards'],
    ['end', 'with Ctrl+C\n'],
  ] as const)
    console.log(`  ${styleText('dim', what.padEnd(7))}  ${how}`);
}
