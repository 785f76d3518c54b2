/** A process that runs, or has run, a session's agent. */
export interface AgentProcess {
  readonly pid: number;
  /** ISO time. */
  readonly startedAt: string;
  readonly status: 'running' | 'ended' | 'killed';
}

/**
 * The processes of agents that a program has started, for pages that show them and kill them.
 *
 * Contract: `list` returns the processes of one session, oldest first; it may forget old ones. `kill` sends SIGKILL to the one that runs
 * and returns its pid, or returns undefined if none runs. What the program does then, such as to start another one, is its own decision.
 */
export interface AgentProcesses {
  list(sessionId: string): readonly AgentProcess[];
  kill(sessionId: string): number | undefined;
}
