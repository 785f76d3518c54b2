/** `holdfast/claude-agent`: an adapter for the Claude Agent SDK, and a session store for it. Needs `@anthropic-ai/claude-agent-sdk`. */
export {
  type AdapterStateChange,
  type AdapterStateDiff,
  diffAdapterStates,
  findResumableState,
} from './agents/adapter-states.ts';
export {
  CLAUDE_AGENT,
  type ClaudeAgentOptions,
  type ClaudeAgentState,
  claudeAgentAdapter,
  claudeAgentState,
} from './agents/claude-agent/claude-agent-adapter.ts';
export { type ClaudeSessionStoreOptions, claudeSessionStore } from './agents/claude-agent/claude-session-store.ts';
export { readClaudeSession } from './agents/claude-agent/read-claude-session.ts';
export type {
  ClaudeAgentSdk,
  ClaudeMessage,
  ClaudeQueryOptions,
  ClaudeSessionKey,
  ClaudeSessionStore,
  ClaudeSessionSummary,
  ClaudeTranscriptEntry,
  FoldSessionSummary,
} from './agents/claude-agent/sdk-types.ts';
export { type RecoverOptions, recoverSession } from './agents/recover-session.ts';
export type {
  AgentState,
  CaptureStrategy,
  ResumeValidation,
  StatefulAdapter,
  StatefulOptions,
} from './agents/stateful-adapter.ts';
