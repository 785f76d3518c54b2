/** `holdfast/transcripts`: finds, loads, parses and exports the sessions of other agents. Node only. */
export type { Loss } from './formats/losses.ts';
export { type FoundTranscript, findTranscripts } from './importers/find-transcripts.ts';
export { type LoadedTranscript, loadTranscript } from './importers/load-transcript.ts';
export type { TranscriptOptions } from './importers/locate-transcript.ts';
export { readTranscript, type TranscriptReading } from './importers/read-transcript.ts';
export type { ProblemCode, TranscriptDiagnostics, TranscriptProblem } from './transcripts/diagnostics.ts';
export {
  type ExportedConversation,
  type ExportFormat,
  type ExportOptions,
  type ExportSource,
  exportConversation,
} from './transcripts/export/export-conversation.ts';
export {
  type RedactOptions,
  redactSecrets,
  type SecretCounts,
  type SecretPattern,
} from './transcripts/export/redact-secrets.ts';
export type { ImportedMessagesOptions } from './transcripts/message-builder.ts';
export { parseTranscript, transcriptToEvents, transcriptToMessages } from './transcripts/parse-transcript.ts';
export type {
  CombinedTranscript,
  RawTranscript,
  SubagentTranscript,
} from './transcripts/raw-transcript.ts';
export type { Architecture } from './transcripts/transcript-formats.ts';
