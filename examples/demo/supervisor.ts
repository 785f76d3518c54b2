/**
 * Runs the demo's sessions in child processes: one per session, as long as it has work. A process that is killed is replaced, and the new one
 * resumes.
 *
 *     wake ─▶ start a process ─┬▶ it is done: ended, unless it was woken meanwhile
 *                 ▲            └▶ it was killed ─┐
 *                 └────────── a moment later ◀───┘
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { styleText } from 'node:util';
import type { AgentOptions } from './agent-process.ts';
import { type Audience, RESTART_MS } from './first-job.ts';
import { type AgentOutcome, watchAgent } from './watch-agent.ts';

export interface SupervisorOptions extends Audience {
  readonly agent: AgentOptions;
  /** Whether a session has something left to run. */
  readonly hasWork: (sessionId: string) => Promise<boolean>;
}

export class Supervisor {
  readonly #options: SupervisorOptions;
  /** The sessions that are run, and whether something was appended since their process has started. */
  readonly #running = new Map<string, { isWokenAgain: boolean; readonly ended: Promise<void> }>();

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Something was appended that a session's agent acts on. */
  wake(sessionId: string): void {
    const running = this.#running.get(sessionId);
    if (running) running.isWokenAgain = true;
    else if (!this.#options.signal.aborted) {
      const ended = Promise.resolve().then(() => this.#runToEnd(sessionId));
      this.#running.set(sessionId, { isWokenAgain: false, ended });
    }
  }

  /** Resolves when no process runs any more; the signal has to abort first. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#running.values(), ({ ended }) => ended));
  }

  async #runToEnd(sessionId: string): Promise<void> {
    const running = this.#running.get(sessionId);
    const { signal, hasWork } = this.#options;
    try {
      for (let isLeft = true; isLeft && !signal.aborted; ) {
        if (running) running.isWokenAgain = false;
        const outcome = await this.#runOnce(sessionId);
        if (signal.aborted) return;
        if (outcome === undefined) {
          console.log(`\n  ${styleText('red', '✗ SIGKILL')} a new process resumes\n`);
          await sleep(RESTART_MS, undefined, { signal }).catch(() => {});
        } else report(outcome);
        // The process has seen everything that came before its end; a message may have come just after.
        isLeft = outcome === undefined || (running?.isWokenAgain === true && (await hasWork(sessionId)));
      }
    } catch (error) {
      console.error(
        styleText('red', `\nThe agent cannot be started: ${error instanceof Error ? error.message : String(error)}`),
      );
    } finally {
      this.#running.delete(sessionId);
    }
  }

  /** The outcome of one process; undefined when it was killed. */
  async #runOnce(sessionId: string): Promise<AgentOutcome> {
    const { agent, registry } = this.#options;
    let outcome: AgentOutcome;
    try {
      outcome = await watchAgent(
        { ...agent, session: sessionId },
        { onStart: (started) => registry.started(sessionId, started) },
      );
    } finally {
      registry.ended(sessionId, outcome === undefined ? 'killed' : 'ended');
    }
    return outcome;
  }
}

/** Prints what a person has to do next, if anything. */
function report(outcome: AgentOutcome): void {
  if (outcome === undefined || outcome === 'killed') return;
  const isDone = outcome.type === 'done' && ['completed', 'idle'].includes(outcome.status);
  const waitsFor = outcome.type === 'done' ? outcome.waitsFor : [];
  for (const { name, isUnknown } of waitsFor) {
    const why = isUnknown
      ? 'was started by a process that died, and its outcome is unknown: settle it in Studio'
      : 'waits for your approval in Studio';
    console.log(styleText('yellow', `  ${styleText('bold', name)} ${why}`));
  }
  if (!isDone && waitsFor.length === 0) console.error(styleText('red', `  ${outcome.message}`));
  if (outcome.type !== 'done') return;
  const next = isDone ? 'the agent has nothing left to do: write to it in Studio' : outcome.status;
  console.log(styleText('dim', `  ${next}\n`));
}
