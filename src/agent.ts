/**
 * `holdfast/agent`: the parts that an adapter for an agent with a loop of its own is built from (docs/agents.md). The adapters of
 * `holdfast/claude-agent` and `holdfast/opencode` are built from them, so that yours resumes, records, suspends and cleans up as
 * they do.
 */
export { type AskContext, createAgentAdapter } from './agents/agent-adapter.ts';
export { type AgentState, defineAgentState } from './agents/agent-state.ts';
export { ConversationRecorder } from './agents/conversation-recorder.ts';
export { serveMcpRequest } from './agents/serve-mcp-request.ts';
export type { StatefulAdapter, StatefulOptions } from './agents/stateful-adapter.ts';
export { beginSubagent } from './agents/subagent-run.ts';
export { ToolRunner } from './agents/tool-runner.ts';
export { currentEvaluation, type Run as EvaluationRun } from './loop/evaluate/run.ts';
export { Suspension } from './loop/evaluate/suspension.ts';
export { checkBudget, costLimitOf } from './loop/request/spending.ts';
