/** `holdfast/server`: the sessions of a store over HTTP, for any number of screens. */
export type { AgentProcess, AgentProcesses } from './server/agent-processes.ts';
export {
  createServer,
  type HoldfastServer,
  type ListeningServer,
  type ListenOptions,
  type ServerStats,
} from './server/create-server.ts';
export type { ErrorBody, HttpErrorCode } from './server/http-error.ts';
export type { ListenerLimits } from './server/node-listener.ts';
export type { AgentRun, Agents, RunnerStatus } from './server/runners.ts';
export type { ServerOptions } from './server/server-options.ts';
