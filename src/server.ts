/** `holdfast/server`: the sessions of a store over HTTP, for any number of screens. */

export {
  createServer,
  type HoldfastServer,
  type ListenOptions,
} from './server/create-server.ts';
export type { AgentProcess, AgentProcesses, ServerOptions } from './server/server-options.ts';
