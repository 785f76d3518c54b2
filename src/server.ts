/** `holdfast/server`: the sessions of a store over HTTP, for any number of screens. */

export type { Agents } from './loop/agent/choose-agent.ts';
export type { AgentProcess, AgentProcesses } from './server/agent-processes.ts';
export {
  createServer,
  type HoldfastServer,
  type ListeningServer,
  type ListenOptions,
  type ServerStats,
} from './server/create-server.ts';
export type { ForkRequest } from './server/fork-at-block.ts';
export type { ErrorBody, HttpErrorCode } from './server/http/http-error.ts';
export type { ListenerLimits } from './server/http/node-listener.ts';
export type { CutText, TextPiece } from './server/http/shortened.ts';
export type {
  ApprovalItem,
  FailedItem,
  InboxItem,
  InboxSession,
  LimitItem,
  OutcomeItem,
  ProviderItem,
  StoppedItem,
} from './server/inbox-items.ts';
export type { BlockPage } from './server/routes/block-routes.ts';
export type { InboxPage } from './server/routes/inbox-route.ts';
export type { ListedSession, MarkedHit } from './server/routes/listing-routes.ts';
export type {
  ComparedSession,
  ReplayComparison,
  RequestDetail,
  RequestList,
  SessionComparison,
} from './server/routes/record-routes.ts';
export type { ServerOptions } from './server/server-options.ts';
export type { RunnerStatus } from './worker/worker-stats.ts';
