/** `holdfast/conversation`: conversation state for screens. Isomorphic, no dependencies. */
export type {
  Attachment,
  BlockBase,
  BlockList,
  BlockMessage,
  BlockStatus,
  BlockType,
  ConversationBlock,
  NoticeBlock,
  SubagentBlock,
  TextBlock,
  ToolResultBlock,
  ToolUseBlock,
  UnknownBlock,
} from './conversation/blocks.ts';
export { conversationToEvents } from './conversation/conversation-to-events.ts';
export { describeNotice, type NoticeDescription } from './conversation/describe-notice.ts';
export {
  type DescribedToolUse,
  describeToolUse,
  type ToolUseDescription,
  type ToolUseKind,
} from './conversation/describe-tool-use.ts';
export {
  type BlockDelta,
  type BlockRemoved,
  type BlockUpsert,
  type ConversationEvent,
  MAIN_CONVERSATION,
  type SessionCleared,
  type SessionIdle,
  type SubagentCompleted,
  type SubagentSpawned,
} from './conversation/events.ts';
export { createConversationState } from './conversation/indexed-state.ts';
export { isConversationEvent } from './conversation/is-conversation-event.ts';
export { reduceConversation, reduceConversationEvents } from './conversation/reduce-conversation.ts';
export { reviveConversationState } from './conversation/revive.ts';
export {
  blocksOf,
  findBlock,
  findSubagent,
  pendingBlocks,
  type ThreadNode,
  threadTree,
  type UsageTotals,
  usageTotals,
} from './conversation/selectors.ts';
export type { SessionConversationState, SubagentState, SubagentStatus } from './conversation/state.ts';
export { type ToolUseContent, toolUseContents } from './conversation/tool-use-content.ts';
export { AGENT_NAMES, type Architecture } from './transcripts/agent-names.ts';
export { type UIMessage, type UIMessagePart, uiMessagesToEvents } from './transcripts/ai-sdk-ui.ts';
export { claudeStreamConverter } from './transcripts/claude/stream-converter.ts';
export { codexStreamConverter } from './transcripts/codex/stream-converter.ts';
export type { TranscriptDiagnostics, TranscriptProblem } from './transcripts/diagnostics.ts';
export { fromEnvelope } from './transcripts/envelope.ts';
export {
  type OpenCodeStreamConverterOptions,
  openCodeStreamConverter,
} from './transcripts/opencode/stream-converter.ts';
export {
  type DraftPiece,
  type LogConverter,
  type LogItem,
  type LogReaderOptions,
  logConverter,
  messagesToEvents,
} from './transcripts/own-log.ts';
export { parseTranscript, transcriptToEvents } from './transcripts/parse-transcript.ts';
export type { CombinedTranscript, RawTranscript, SubagentTranscript } from './transcripts/raw-transcript.ts';
export type { StreamConverter, StreamConverterOptions } from './transcripts/stream-converter.ts';
