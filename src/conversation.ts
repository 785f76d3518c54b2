/** `holdfast/conversation`: conversation state for screens. Isomorphic, no dependencies. */
export type {
  Attachment,
  BlockList,
  ConversationBlock,
  SessionConversationState,
  SubagentBlock,
  SubagentState,
  ToolResultBlock,
  ToolUseBlock,
} from './conversation/blocks.ts';
export { conversationToEvents } from './conversation/conversation-to-events.ts';
export { describeNotice } from './conversation/describe-notice.ts';
export { describeToolUse, type ToolUseKind } from './conversation/describe-tool-use.ts';
export { type ConversationEvent, MAIN_CONVERSATION } from './conversation/events.ts';
export { createConversationState } from './conversation/indexed-state.ts';
export { isConversationEvent } from './conversation/is-conversation-event.ts';
export { reduceConversation, reduceConversationEvents } from './conversation/reduce-conversation.ts';
export { reviveConversationState } from './conversation/revive.ts';
export {
  blocksOf,
  findBlock,
  findSubagent,
  pendingBlocks,
  threadTree,
  usageTotals,
} from './conversation/selectors.ts';
export { toolUseContents } from './conversation/tool-use-content.ts';
export { AGENT_NAMES } from './transcripts/agent-names.ts';
export { uiMessagesToEvents } from './transcripts/ai-sdk-ui.ts';
export { claudeStreamConverter } from './transcripts/claude/stream-converter.ts';
export { codexStreamConverter } from './transcripts/codex/stream-converter.ts';
export { fromEnvelope } from './transcripts/envelope.ts';
export { openCodeStreamConverter } from './transcripts/opencode/stream-converter.ts';
export { logConverter, messagesToEvents } from './transcripts/own-log.ts';
export { parseTranscript, transcriptToEvents } from './transcripts/parse-transcript.ts';
export type { StreamConverter } from './transcripts/stream-converter.ts';
