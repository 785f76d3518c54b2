/**
 * `holdfast/agent`: the parts that an adapter for an agent with a loop of its own is built from (docs/agents.md). The adapters of
 * `holdfast/claude-agent` and `holdfast/opencode` are built from them, so that yours resumes, records, suspends and cleans up as
 * they do.
 */
export { type AgentKind, type AskContext, createAgentAdapter, refuseNames } from './agents/agent-adapter.ts';
export { defineAgentState } from './agents/agent-state.ts';
export { agentStateNow, CaptureSchedule, captureState } from './agents/capture-state.ts';
export { type AgentResponse, ConversationRecorder } from './agents/conversation-recorder.ts';
export type { BuiltInTools } from './agents/run-open-calls.ts';
export { type McpMessage, serveMcpRequest, TOOL_SERVER } from './agents/serve-mcp-request.ts';
export {
  type AgentState,
  type CaptureStrategy,
  type ResumeValidation,
  STATEFUL_OPTIONS,
  type StatefulAdapter,
  type StatefulOptions,
} from './agents/stateful-adapter.ts';
export { beginSubagent } from './agents/subagent-run.ts';
export { type RunningAgent, type Stop, ToolRunner } from './agents/tool-runner.ts';
export { HoldfastError } from './core/errors.ts';
export type { ToolOutcome } from './loop/define/tool-result.ts';
export { currentEvaluation, type Run as AgentRun } from './loop/evaluate/run.ts';
export { Suspension } from './loop/evaluate/suspension.ts';
export { checkBudget, costLimitOf } from './loop/request/spending.ts';
