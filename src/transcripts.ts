/** `holdfast/transcripts`: finds, loads, parses, exports and writes the sessions of other agents. Node only. */
export type { Loss } from './formats/losses.ts';
export { exportConversation } from './importers/export-conversation.ts';
export { type FindTranscriptsOptions, type FoundTranscript, findTranscripts } from './importers/find-transcripts.ts';
export type { AgentCommand } from './importers/handoff/handoff-target.ts';
export { type ContinueOptions, continueTranscript } from './importers/kept/continue-transcript.ts';
export { eraseRecords, type ImportedRecord } from './importers/kept/erase-records.ts';
export type {
  ImportProblem,
  ImportProblemCode,
  ImportProgress,
  ImportResult,
} from './importers/kept/import-context.ts';
export { type ImportOptions, importTranscripts } from './importers/kept/import-transcripts.ts';
export { conversationOf, loadImported, messagesOf } from './importers/kept/load-imported.ts';
export { restoreTranscript } from './importers/kept/restore-transcript.ts';
export { type LoadedTranscript, loadTranscript } from './importers/load-transcript.ts';
export type { TranscriptOptions } from './importers/locate-transcript.ts';
export { readTranscript, type TranscriptReading } from './importers/read-transcript.ts';
export type { SearchProblem } from './importers/search-problem.ts';
export { type WriteTranscriptOptions, type WrittenTranscript, writeTranscript } from './importers/write-transcript.ts';
export type { Architecture } from './transcripts/agent-names.ts';
export type { ProblemCode, TranscriptDiagnostics, TranscriptProblem } from './transcripts/diagnostics.ts';
export type { AboutConversation } from './transcripts/export/conversation-facts.ts';
export type {
  ExportedConversation,
  ExportFormat,
  ExportOptions,
  ExportSource,
} from './transcripts/export/export-with.ts';
export {
  type RedactOptions,
  redactSecrets,
  type SecretCounts,
  type SecretPattern,
} from './transcripts/export/redact-secrets.ts';
export type { HandoffTarget } from './transcripts/handoff/build-transcript.ts';
export type { HandedPast, HandoffSource } from './transcripts/handoff/handoff-source.ts';
export type { PathMap } from './transcripts/handoff/map-paths.ts';
export type { ImportedMessagesOptions } from './transcripts/message-builder.ts';
export { parseTranscript, transcriptToEvents, transcriptToMessages } from './transcripts/parse-transcript.ts';
export type {
  CombinedTranscript,
  RawTranscript,
  SubagentTranscript,
} from './transcripts/raw-transcript.ts';
