/** The Claude Agent SDK: its sessions in our store, and its agents as an adapter. Needs `@anthropic-ai/claude-agent-sdk`. */
export { type ClaudeSessionStoreOptions, claudeSessionStore } from './agents/claude-agent/claude-session-store.ts';
export type {
  ClaudeAgentSdk,
  ClaudeSessionKey,
  ClaudeSessionStore,
  ClaudeSessionSummary,
  ClaudeTranscriptEntry,
  FoldSessionSummary,
} from './agents/claude-agent/sdk-types.ts';
