/** `holdfast/transcripts`: the sessions of other agents, found, loaded and read. Node only. */
export { type FoundTranscript, findTranscripts } from './importers/find-transcripts.ts';
export { type LoadedTranscript, loadTranscript } from './importers/load-transcript.ts';
export type { TranscriptOptions } from './importers/locate-transcript.ts';
export { readTranscript, type TranscriptReading } from './importers/read-transcript.ts';
export type { ProblemCode, TranscriptDiagnostics, TranscriptProblem } from './transcripts/diagnostics.ts';
export type { ImportedMessagesOptions } from './transcripts/message-builder.ts';
export type {
  Architecture,
  CombinedTranscript,
  RawTranscript,
  SubagentTranscript,
} from './transcripts/source.ts';
export { transcriptToMessages } from './transcripts/transcript-to-messages.ts';
