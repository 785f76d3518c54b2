/** `holdfast/transcripts`: finds, loads, exports and writes the sessions of other agents. Node only. */
export { exportConversation } from './importers/export-conversation.ts';
export { type FoundTranscript, findTranscripts } from './importers/find-transcripts.ts';
export {
  type WrittenTranscript,
  writeTranscript,
} from './importers/handoff/write-transcript.ts';
export { continueTranscript } from './importers/kept/continue-transcript.ts';
export { eraseRecords } from './importers/kept/erase-records.ts';
export type { ImportProgress, ImportResult } from './importers/kept/import-context.ts';
export { type ImportOptions, importTranscripts } from './importers/kept/import-transcripts.ts';
export { conversationOf, loadImported, messagesOf } from './importers/kept/load-imported.ts';
export { restoreTranscript } from './importers/kept/restore-transcript.ts';
export { type LoadedTranscript, loadTranscript } from './importers/load-transcript.ts';
export { readTranscript } from './importers/read-transcript.ts';
export type { Architecture } from './transcripts/agent-names.ts';
export type { TranscriptDiagnostics } from './transcripts/diagnostics.ts';
export type { ExportFormat, ExportOptions } from './transcripts/export/export-with.ts';
export { type RedactOptions, redactSecrets } from './transcripts/export/redact-secrets.ts';
export { transcriptToMessages } from './transcripts/parse-transcript.ts';
