import type { AgentProcess, AgentProcesses } from 'holdfast/server';
import type { RunningAgent } from './agent-process.ts';

const MAX_KEPT = 50;

/** The processes that the demo has started, by session: Studio lists them and kills the one that runs. */
export class AgentRegistry implements AgentProcesses {
  readonly #processes = new Map<string, AgentProcess[]>();
  readonly #running = new Map<string, RunningAgent>();

  started(sessionId: string, agent: RunningAgent): void {
    const all = this.#processes.get(sessionId) ?? [];
    all.push({ pid: agent.pid, startedAt: new Date().toISOString(), status: 'running' });
    this.#processes.set(sessionId, all.slice(-MAX_KEPT));
    this.#running.set(sessionId, agent);
  }

  ended(sessionId: string, status: 'ended' | 'killed'): void {
    this.#running.delete(sessionId);
    const all = this.#processes.get(sessionId) ?? [];
    this.#processes.set(
      sessionId,
      all.map((each) => (each.status === 'running' ? { ...each, status } : each)),
    );
  }

  list(sessionId: string): readonly AgentProcess[] {
    return this.#processes.get(sessionId) ?? [];
  }

  kill(sessionId: string): number | undefined {
    const agent = this.#running.get(sessionId);
    agent?.kill();
    return agent?.pid;
  }
}
