/**
 * Holdfast: durable conversation state for LLM agents. This entry has everything to write an agent with; stores, history managers,
 * conversation state and transcripts have their own entries.
 */
export {
  type AdapterStateChange,
  type AdapterStateDiff,
  diffAdapterStates,
  findCompositeState,
  findResumableState,
} from './agents/adapter-states.ts';
export { type RecoverOptions, recoverSession } from './agents/recover-session.ts';
export type { StatefulAdapter } from './agents/stateful-adapter.ts';
export { type ConflictDetail, type ErrorCode, HoldfastError, isHoldfastError } from './core/errors.ts';
export type {
  CallState,
  CallStatus,
  CancelRequest,
  Evaluation,
  EvaluationStatus,
  RaisedLimits,
  ResumeRequest,
} from './core/fold/evaluations.ts';
export type { SessionRecord, UsageRecord } from './core/fold/record.ts';
export type { InputStatus, SessionInput, SessionInputs } from './core/fold/session-inputs.ts';
export {
  type AnySlice,
  appendAll,
  defineSlice,
  type EventIn,
  type EventOf,
  type EventReducer,
  type ItemOf,
  replaceLatest,
  type Slice,
  type SliceReducer,
  type StateOf,
  type UnlistedEvent,
  upsertBy,
  type ValueReducer,
  type ValueSlice,
} from './core/fold/slices.ts';
export { type ParseSnapshotOptions, parseSnapshot, type SliceSnapshot, type Snapshot } from './core/fold/snapshot.ts';
export { List } from './core/list.ts';
export {
  type AdapterState,
  type AdapterStateSnapshot,
  type AdapterStateType,
  defineAdapterState,
} from './core/log/adapter-state.ts';
export {
  adapterStateFor,
  type CompositeAdapterState,
  composeAdapterStates,
  defineCompositeState,
} from './core/log/composite-adapter-state.ts';
export type * from './core/log/events.ts';
export { isBuiltInEvent, isUserEvent } from './core/log/events.ts';
export * from './core/log/messages.ts';
export type { CallProgress, ProgressPiece, ProgressReport, ToolProgress } from './core/log/progress.ts';
export type { PromptIdentity } from './core/log/prompt-identity.ts';
export type { DraftReset, DraftsReplaced, SessionReset, TailEvent, TailItem } from './core/log/tail.ts';
export type { Upcaster, Upcasters } from './core/log/upcast.ts';
export type { Usage } from './core/log/usage.ts';
export { type PlannedCall, planResume, type ResumePlan } from './core/plan/resume-plan.ts';
export type { SessionSummary } from './core/summary/session-summary.ts';
export type { ComparedMessage, ComparedRow, LogComparison } from './core/views/compare-logs.ts';
export type {
  AbandonOptions,
  ApproveOptions,
  CancelOptions,
  DecisionOptions,
  DenyOptions,
  ResumeOptions,
  SessionDecisions,
  Stopped,
} from './core/views/session-decisions.ts';
export {
  adapterStates,
  evaluations,
  messages,
  type Selection,
  type SelectionOf,
  type SessionView,
  toolStarts,
  usage,
  type ValueSelection,
} from './core/views/session-view.ts';
export type * from './core/views/timeline.ts';
export { TimelineBuilder, timelineOf } from './core/views/timeline-builder.ts';
export type {
  ConversationTurn,
  EvaluationOptions,
  LatestOptions,
  MessagesOptions,
  QueuedInput,
  TurnCall,
} from './core/views/views.ts';
export {
  type AnthropicConversation,
  type AnthropicInput,
  type AnthropicMessage,
  fromAnthropic,
  toAnthropic,
} from './formats/anthropic-messages.ts';
export type { MessageImportOptions } from './formats/imported-messages.ts';
export type { FormatLoss, FormatOptions } from './formats/losses.ts';
export { fromOpenAIChat, type OpenAIChatInput, type OpenAIChatMessage, toOpenAIChat } from './formats/openai-chat.ts';
export type {
  Agent,
  AgentDefaults,
  AgentListener,
  AgentResponse,
  AgentRunOptions,
  AgentStream,
  CompletedRun,
  RunObstacle,
  UnfinishedRun,
} from './loop/agent/agent.ts';
export type { Agents } from './loop/agent/choose-agent.ts';
export { type AgentOptions, createAgent, type PromptAgentOptions } from './loop/agent/create-agent.ts';
export { readCallProgress } from './loop/calls/call-progress.ts';
export {
  definePrompt,
  type NamedForeignTool,
  type Prompt,
  type PromptDefinition,
  type ToolSet,
} from './loop/define/define-prompt.ts';
export { defineSubagent, type SubagentDefinition } from './loop/define/define-subagent.ts';
export {
  type AnyTool,
  type ApprovalNeed,
  defineTool,
  type Reconciliation,
  type Tool,
  type ToolContext,
  type ToolDefinition,
} from './loop/define/define-tool.ts';
export { type ForeignTool, type McpClient, mcpTools } from './loop/define/foreign-tools.ts';
export { SuspendedCall, type SuspendUntilOptions, suspendUntil } from './loop/define/suspend-until.ts';
export { ToolContent, toolContent } from './loop/define/tool-result.ts';
export { type AdapterOptions, createAdapter } from './loop/evaluate/create-adapter.ts';
export type * from './loop/evaluate/provider-adapter.ts';
export { isMessageDelta, isToolProgress } from './loop/evaluate/provider-adapter.ts';
export {
  type CheckpointHandler,
  type CheckpointStrategy,
  type FileCheckpoints,
  fileCheckpoints,
} from './loop/main-loop/checkpoints.ts';
export type { KeptResponse } from './loop/main-loop/kept-response.ts';
export { MainLoop, type MainLoopOptions, type PreparedRequest } from './loop/main-loop/main-loop.ts';
export type { Price, Prices } from './loop/request/prices.ts';
export type { RecordProviderMetadata } from './loop/request/provider-metadata.ts';
export { createSharedUsage, type SharedUsage, type SharedUsageOptions } from './loop/request/shared-usage.ts';
export { type AiSdkLanguageModel, type AiSdkModelOptions, aiSdkModel, type ProviderTool } from './models/ai-sdk.ts';
export { type Script, type ScriptedModelOptions, type ScriptedTurn, scriptedModel } from './models/scripted.ts';
export type { Clock } from './ports/clock.ts';
export {
  type Model,
  ModelError,
  type ModelPart,
  type ModelRequest,
  type ModelResponse,
  type ModelTool,
} from './ports/model.ts';
export type * from './ports/store.ts';
export { sessionSource } from './react/session-source.ts';
export type { SendOptions, SentInput } from './session/append/send-input.ts';
export type { StagedSession } from './session/append/staged-session.ts';
export {
  type OpenStoreOptions,
  openStore,
  type SessionStore,
  type StoreSessionOptions,
} from './session/open-store.ts';
export { readCallArguments } from './session/people/call-arguments.ts';
export {
  type AnySession,
  type Dispatched,
  type EventsOptions,
  type OpenSessionOptions,
  openSession,
  type RestoreOptions,
  type Session,
  type SubscribeOptions,
  type TailOptions,
} from './session/session.ts';
export { memoryStore } from './stores/memory.ts';
