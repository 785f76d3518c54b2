import type { ConversationEvent } from '../conversation/events.ts';
import type { TranscriptDiagnostics } from '../transcripts/diagnostics.ts';
import type { RawTranscript } from '../transcripts/raw-transcript.ts';
import type { TranscriptFormat } from '../transcripts/transcript-format.ts';

/** A file, or a folder with the names of its subfolders. The path contains no symbolic links. */
export type FileOrFolder =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'folder'; readonly path: string; readonly subfolders: ReadonlySet<string> };

/** Where a session is stored. The path contains no symbolic links. */
export interface TranscriptPlace {
  readonly path: string;
  /** Which session, where the path holds several. */
  readonly sessionId?: string;
}

/** A session, as far as it is known without reading all of it. */
export interface FoundSession {
  readonly path: string;
  readonly sessionId: string;
  readonly title?: string;
  /** The directory the agent worked in. */
  readonly cwd?: string;
  readonly createdAt?: string;
  readonly updatedAt?: string;
  /** The size of its file; absent where sessions share one. */
  readonly bytes?: number;
  /** Messages of OpenCode, lines of the user and the assistant of Claude Code; absent for very large files. */
  readonly messages?: number;
  readonly subagents: number;
}

/**
 * Returns the sessions in a file or a folder; `undefined` when it is not one of the agent's. A folder for which it returns a list is
 * not searched further.
 */
export type FindSessions = (item: FileOrFolder) => Promise<readonly FoundSession[] | undefined>;

/** Receives a function that reports what has been read so far. */
export type OnDiagnostics = (diagnostics: () => TranscriptDiagnostics) => void;

/**
 * Finds and reads the files of one agent. `transcript-sources.ts` lists the sources. The conversion of what is read is its `format`, which is
 * pure and lives in `transcripts/`. ARCHITECTURE.md says how to add a format.
 *
 * Contract: reads only regular files, follows no symbolic links (`safe-files.ts`) and writes nothing.
 */
export interface TranscriptSource {
  readonly format: TranscriptFormat;
  /** Names of folders that belong to a session and hold no sessions of their own: a search skips them. */
  readonly innerFolders: readonly string[];
  /** Returns the place of the sessions that a caller's path names; `undefined` when it is not one of the agent's. */
  detect(item: FileOrFolder): Promise<TranscriptPlace | undefined>;
  /** Starts a search. The returned function may remember what it reads until the search ends. */
  startSearch(): FindSessions;
  /** Reads a session into memory, in the form that its format takes. */
  load(place: TranscriptPlace): Promise<RawTranscript>;
  /** Reads a session as batches of events. Calls `onDiagnostics` before the first batch. */
  read(place: TranscriptPlace, onDiagnostics: OnDiagnostics): AsyncGenerator<readonly ConversationEvent[]>;
}

/** Reads a session that fits into memory as one batch: the `read` of sources that cannot read a part of a file. */
export async function* readLoaded(
  source: Pick<TranscriptSource, 'format' | 'load'>,
  place: TranscriptPlace,
  onDiagnostics: OnDiagnostics,
): AsyncGenerator<readonly ConversationEvent[]> {
  const { events, diagnostics } = source.format.toEvents(await source.load(place));
  onDiagnostics(() => diagnostics);
  yield events;
}
