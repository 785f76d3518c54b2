/** `holdfast/claude-agent`: an adapter for the Claude Agent SDK, and a session store for it. Needs `@anthropic-ai/claude-agent-sdk`. */
export {
  CLAUDE_AGENT,
  type ClaudeAgentOptions,
  type ClaudeAgentState,
  claudeAgentAdapter,
  claudeAgentState,
} from './agents/claude-agent/claude-agent-adapter.ts';
export { claudeSessionStore, readClaudeSession } from './agents/claude-agent/claude-session-store.ts';
export type { ClaudeSessionStore } from './agents/claude-agent/sdk-types.ts';
