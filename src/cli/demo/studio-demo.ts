/** The demo for a person: the same two kills, shown live by Studio, then a longer job whose agent the person kills with a button. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../core/errors.ts';
import { openSession } from '../../session/session.ts';
import { sqliteStore } from '../../stores/sqlite/sqlite-store.ts';
import { OWN_COMMAND } from '../own-command.ts';
import { printableLine } from '../printable.ts';
import { StatusLine } from '../status-line.ts';
import { canOpenBrowser, openBrowser } from '../studio/open-browser.ts';
import type { Place } from '../studio/place.ts';
import { type ServedStudio, STARTING, serveStudio } from '../studio/serve-studio.ts';
import { endBy, type SignalWait, waitForSignal } from '../studio/until-signal.ts';
import { terminal } from '../terminal.ts';
import type { AgentOptions } from './agent-process.ts';
import { AgentRegistry } from './agent-registry.ts';
import { SESSION_ID } from './assistant.ts';
import { summarize } from './summary.ts';
import { RESTART_MS, Supervisor } from './supervisor.ts';
import { TRIP_REQUEST } from './trip-rules.ts';
import { type AgentOutcome, giveUp, KILLS, watchAgent } from './watch-agent.ts';

const { bold, cyan, dim, green, red, yellow } = terminal;

/** How fast a person reads. */
const WORD_MS = 60;
/** How long a page may take to open before the demo begins without it. */
const PAGE_MS = 6000;
const LOOK_MS = 100;

export interface StudioDemoOptions {
  readonly agent: AgentOptions;
  readonly root: string;
  readonly place: Place;
  readonly isOpened: boolean;
}

/** Runs the demo with Studio until a signal ends it. Returns undefined when Studio cannot be served: the demo has not begun. */
export async function studioDemo({ agent, root, place, isOpened }: StudioDemoOptions): Promise<number | undefined> {
  const wait = waitForSignal();
  const store = await sqliteStore(join(agent.dir, 'agent.db'));
  const registry = new AgentRegistry();
  const hasWork = async (id: string): Promise<boolean> =>
    (await store.listSessions({ work: true, idPrefix: id })).sessions.some((each) => each.id === id);
  const paced = { ...agent, wordMs: WORD_MS };
  const supervisor = new Supervisor({ agent: paced, registry, hasWork, signal: wait.aborted });
  let isFirstJob = true;
  try {
    const session = await openSession({ store, id: SESSION_ID });
    await session.describe({ title: 'Expenses and a trip' }); // a page can show it before the agent has begun
    const agents = ({ id }: { readonly id: string }): undefined => {
      if (!isFirstJob || id !== SESSION_ID) supervisor.wake(id);
    };
    const served = await started(() => serveStudio({ store, agents, processes: registry, pollMs: 500 }, place));
    if (!served) return undefined;
    try {
      await showPage(served, isOpened, wait);
      const isDone = await firstJob(paced, root, registry, wait.aborted);
      isFirstJob = false;
      if (isDone) {
        announceSecondJob(served.address('sessions', SESSION_ID));
        await session.send(TRIP_REQUEST, { by: 'holdfast demo' });
        supervisor.wake(SESSION_ID);
      } else if (!wait.aborted.aborted) return 1;
      await wait.signal;
    } finally {
      await served.server.close({ graceMs: 0 });
      await supervisor.close();
    }
    console.log(`\nTo look at it again: ${OWN_COMMAND} studio ${join(agent.dir, 'agent.db')}`);
  } finally {
    await store.close();
    wait.release();
  }
  return endBy(await wait.signal);
}

/** Serves Studio; a Studio that cannot be built is no reason not to run the demo. */
async function started(serve: () => Promise<ServedStudio>): Promise<ServedStudio | undefined> {
  const line = new StatusLine();
  line.show(STARTING);
  try {
    return await serve();
  } catch (error) {
    line.clear();
    console.error(yellow(`Studio cannot be served, so the demo runs without it: ${printableLine(messageOf(error))}`));
    return undefined;
  } finally {
    line.clear();
  }
}

/** Prints the address, opens the page, and waits until it is there. */
async function showPage(served: ServedStudio, isOpened: boolean, { aborted }: SignalWait): Promise<void> {
  const address = served.address('sessions', SESSION_ID);
  console.log(`${bold('Studio')} ${cyan(address)} ${dim('(Ctrl+C ends it)')}\n`);
  if (served.network !== undefined) console.log(`  for other machines: ${served.network}\n`);
  if (!isOpened || !canOpenBrowser()) return;
  openBrowser(address);
  const until = performance.now() + PAGE_MS;
  while (served.server.stats().streams === 0 && performance.now() < until && !aborted.aborted) await sleep(LOOK_MS);
}

/** Files the expenses, with our kills and those of the person. Returns whether it came to its end. */
async function firstJob(
  agent: AgentOptions,
  root: string,
  registry: AgentRegistry,
  signal: AbortSignal,
): Promise<boolean> {
  const began = performance.now();
  let outcome: AgentOutcome;
  let kills = 0;
  let ours = 0;
  do {
    if (kills > 0) await sleep(RESTART_MS, undefined, { signal }).catch(() => {});
    if (signal.aborted) return false;
    outcome = await watchAgent(agent, {
      kill: KILLS[ours],
      onStart: (started) => registry.started(SESSION_ID, started),
    });
    const isKilled = outcome === undefined || outcome === 'killed';
    registry.ended(SESSION_ID, isKilled ? 'killed' : 'ended');
    if (signal.aborted) return false;
    if (outcome === 'killed') ours++;
    if (outcome === undefined) console.log(`\n  ${red('✗ SIGKILL')} by you\n`);
    if (isKilled) kills++;
  } while (outcome === undefined || outcome === 'killed');
  if (outcome.type !== 'done' || outcome.status !== 'completed') {
    giveUp(outcome);
    return false;
  }
  console.log(`\n${green('✓')} ${bold('done')} ${dim(`in ${((performance.now() - began) / 1000).toFixed(1)} s`)}\n`);
  try {
    await summarize(agent, root, kills);
  } catch (error) {
    if (!signal.aborted) throw error; // otherwise the run that it compares with was killed, too
  }
  return !signal.aborted;
}

function announceSecondJob(address: string): void {
  console.log(`\n${bold('Now it is your turn')}: the agent plans a trip. In Studio, ${cyan(address)}`);
  console.log(
    `  ${dim('kill')}     press ${bold('Kill')} whenever you like: its process gets SIGKILL, a new one resumes, and no finished tool runs again`,
  );
  console.log(`  ${dim('approve')}  it asks before it books a hotel`);
  console.log(`  ${dim('write')}    to the agent, while it works or afterwards`);
  console.log(`  ${dim('end')}      with Ctrl+C\n`);
}
