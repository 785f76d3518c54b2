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
export {
  type AdapterState,
  type AdapterStateSnapshot,
  type AdapterStateType,
  defineAdapterState,
} from './core/adapter-state.ts';
export type { ComparedMessage, ComparedRow, LogComparison } from './core/compare-logs.ts';
export {
  adapterStateFor,
  type CompositeAdapterState,
  composeAdapterStates,
  defineCompositeState,
} from './core/composite-adapter-state.ts';
export { type ConflictDetail, type ErrorCode, HoldfastError, isHoldfastError } from './core/errors.ts';
export type {
  CallState,
  CallStatus,
  CancelRequest,
  Evaluation,
  EvaluationStatus,
  RaisedLimits,
  ResumeRequest,
} from './core/evaluations.ts';
export type * from './core/events.ts';
export { isBuiltInEvent, isUserEvent } from './core/events.ts';
export type { Inbox, InboxInput, InputStatus } from './core/inbox.ts';
export { List } from './core/list.ts';
export * from './core/messages.ts';
export type { CallProgress, ProgressPiece, ProgressReport, ToolProgress } from './core/progress.ts';
export type { PromptIdentity } from './core/prompt-identity.ts';
export type { SessionRecord, UsageRecord } from './core/record.ts';
export { type PlannedCall, planResume, type ResumePlan } from './core/resume-plan.ts';
export type {
  AbandonOptions,
  ApproveOptions,
  CancelOptions,
  DecisionOptions,
  DenyOptions,
  ResumeOptions,
  SessionDecisions,
  Stopped,
} from './core/session-decisions.ts';
export type { SessionSummary } from './core/session-summary.ts';
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
} from './core/session-view.ts';
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
} from './core/slices.ts';
export { type ParseSnapshotOptions, parseSnapshot, type SliceSnapshot, type Snapshot } from './core/snapshot.ts';
export type { DraftReset, DraftsReplaced, SessionReset, TailEvent, TailItem } from './core/tail.ts';
export type * from './core/timeline.ts';
export { TimelineBuilder, timelineOf } from './core/timeline-builder.ts';
export type { Upcaster, Upcasters } from './core/upcast.ts';
export type { Usage } from './core/usage.ts';
export type {
  ConversationTurn,
  EvaluationOptions,
  LatestOptions,
  MessagesOptions,
  QueuedInput,
  TurnCall,
} from './core/views.ts';
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
export { readCallProgress } from './loop/call-progress.ts';
export {
  type CheckpointHandler,
  type CheckpointStrategy,
  type FileCheckpoints,
  fileCheckpoints,
} from './loop/checkpoints.ts';
export { type AdapterOptions, createAdapter } from './loop/create-adapter.ts';
export {
  definePrompt,
  type NamedForeignTool,
  type Prompt,
  type PromptDefinition,
  type ToolSet,
} from './loop/define-prompt.ts';
export { defineSubagent, type SubagentDefinition } from './loop/define-subagent.ts';
export {
  type AnyTool,
  type ApprovalNeed,
  defineTool,
  type Reconciliation,
  type Tool,
  type ToolContext,
  type ToolDefinition,
} from './loop/define-tool.ts';
export { type ForeignTool, type McpClient, mcpTools } from './loop/foreign-tools.ts';
export type { KeptResponse } from './loop/kept-response.ts';
export { MainLoop, type MainLoopOptions, type PreparedRequest } from './loop/main-loop.ts';
export type { Price, Prices } from './loop/prices.ts';
export type * from './loop/provider-adapter.ts';
export { isMessageDelta, isToolProgress } from './loop/provider-adapter.ts';
export type { RecordProviderMetadata } from './loop/provider-metadata.ts';
export { SuspendedCall, type SuspendUntilOptions, suspendUntil } from './loop/suspend-until.ts';
export { ToolContent, toolContent } from './loop/tool-result.ts';
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
export { readCallArguments } from './session/people/call-arguments.ts';
export type { SendOptions, SentInput } from './session/send-input.ts';
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
export type { StagedSession } from './session/staged-session.ts';
export { memoryStore } from './stores/memory.ts';
