/**
 * `holdfast`: agents, sessions and stores, tools, slices, models and errors. The layer below `createAgent` is `holdfast/evaluate`; what screens,
 * history managers, servers, workers and stores of your own need has entries of its own.
 */
export { type ErrorCode, HoldfastError, isHoldfastError } from './core/errors.ts';
export type { CallState, Evaluation } from './core/fold/evaluations.ts';
export {
  type AnySlice,
  appendAll,
  defineSlice,
  type EventOf,
  replaceLatest,
  type Slice,
  upsertBy,
} from './core/fold/slices.ts';
export { parseSnapshot, type Snapshot } from './core/fold/snapshot.ts';
export type {
  InputContent,
  NewEvent,
  SessionEvent,
  Settlement,
  SuspendReason,
} from './core/log/events.ts';
export { isBuiltInEvent, isUserEvent } from './core/log/events.ts';
export {
  type AssistantMessage,
  type CallRef,
  type ConversationMessage,
  callsOf,
  type MediaPart,
  type ReasoningPart,
  type SystemMessage,
  type TextPart,
  type ToolCall,
  type ToolMessage,
  textOf,
  type UserMessage,
} from './core/log/messages.ts';
export type { ToolProgress } from './core/log/progress.ts';
export type { TailItem } from './core/log/tail.ts';
export type { Upcasters } from './core/log/upcast.ts';
export type { Usage } from './core/log/usage.ts';
export type { SessionSummary } from './core/summary/session-summary.ts';
export type { SessionDecisions } from './core/views/session-decisions.ts';
export {
  adapterStates,
  evaluations,
  messages,
  type SessionView,
  toolStarts,
  usage,
} from './core/views/session-view.ts';
export type { ConversationTurn, QueuedInput } from './core/views/views.ts';
export { type AnthropicMessage, fromAnthropic, toAnthropic } from './formats/anthropic-messages.ts';
export { fromOpenAIChat, type OpenAIChatMessage, toOpenAIChat } from './formats/openai-chat.ts';
export type { Agent, AgentListener, AgentResponse, AgentRunOptions, AgentStream } from './loop/agent/agent.ts';
export type { Agents } from './loop/agent/choose-agent.ts';
export { type AgentOptions, createAgent } from './loop/agent/create-agent.ts';
export { readCallProgress } from './loop/calls/call-progress.ts';
export type { ToolSet } from './loop/define/define-prompt.ts';
export { defineSubagent } from './loop/define/define-subagent.ts';
export {
  type AnyTool,
  defineTool,
  type Reconciliation,
  type Tool,
  type ToolContext,
} from './loop/define/define-tool.ts';
export { mcpTools } from './loop/define/foreign-tools.ts';
export { suspendUntil } from './loop/define/suspend-until.ts';
export { toolContent } from './loop/define/tool-result.ts';
export type { Budget, EvaluationEvent } from './loop/evaluate/provider-adapter.ts';
export { isMessageDelta, isToolProgress } from './loop/evaluate/provider-adapter.ts';
export type { Prices } from './loop/request/prices.ts';
export { createSharedUsage, type SharedUsage } from './loop/request/shared-usage.ts';
export { aiSdkModel } from './models/ai-sdk.ts';
export { type Script, type ScriptedTurn, scriptedModel } from './models/scripted.ts';
export type { Clock } from './ports/clock.ts';
export {
  type Model,
  ModelError,
  type ModelPart,
  type ModelRequest,
  type ModelResponse,
} from './ports/model.ts';
export type { ListSessionsOptions, SearchHit, SessionInfo, Store } from './ports/store.ts';
export { sessionSource } from './react/session-source.ts';
export type { SendOptions } from './session/append/send-input.ts';
export type { StagedSession } from './session/append/staged-session.ts';
export { type OpenStoreOptions, openStore, type SessionStore } from './session/open-store.ts';
export { readCallArguments } from './session/people/call-arguments.ts';
export { type AnySession, type OpenSessionOptions, openSession, type Session } from './session/session.ts';
export { memoryStore } from './stores/memory.ts';
