import type { ConversationEvent } from '../conversation/events.ts';
import type { TranscriptDiagnostics } from '../transcripts/diagnostics.ts';
import type { Json } from '../transcripts/json-access.ts';
import type { RawTranscript } from '../transcripts/raw-transcript.ts';
import type { TranscriptFormat } from '../transcripts/transcript-format.ts';

/** A file or a folder that a search could not read. */
export interface SearchProblem {
  /**
   * `unreadable`: no permission, or it disappeared. `too-large`: it has to be read as one text and is too large for that. `name-not-utf8`: its
   * name has no form as text, so it cannot be named here.
   */
  readonly code: 'unreadable' | 'too-large' | 'name-not-utf8';
  /** The path. Bytes of a name that are not UTF-8 are replaced. */
  readonly path: string;
  readonly message: string;
}

/** Receives what could not be read. */
export type ReportProblem = (problem: SearchProblem) => void;

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
  /**
   * Messages of OpenCode, lines of the user and the assistant of Claude Code, prompts and texts of Codex; absent for very large files.
   */
  readonly messages?: number;
  readonly subagents: number;
}

/**
 * Returns the sessions in a file or a folder; `undefined` when it is not one of the agent's. A folder for which it returns a list is
 * not searched further.
 */
export type FindSessions = (item: FileOrFolder) => Promise<readonly FoundSession[] | undefined>;

/** A file of a session. */
export interface SessionFile {
  /** Its path relative to the folder of the session's main file, with `/` as separator. */
  readonly name: string;
  readonly path: string;
  /** An `other` file belongs to the session and is not read by its format: spilled output, side requests. */
  readonly role: 'main' | 'subagent' | 'meta' | 'other';
  /** The subagent that the file belongs to. */
  readonly agentId?: string;
}

/** Returns the files of a session, the main file first. */
export type ListFiles = (place: TranscriptPlace) => Promise<readonly SessionFile[]>;

/** The rows of a session: of its main conversation, or of one of its descendants. */
export interface SessionRows {
  readonly id: string;
  /** Changes whenever a row changes; absent when only reading them shows that. */
  readonly stamp?: string;
}

/** A session whose records are rows. */
export interface FoundRows {
  readonly found: FoundSession;
  /** The main conversation first. */
  readonly members: readonly SessionRows[];
}

/** One row as JSON: about the session itself, or one of its messages. */
export type RowRecord = {
  readonly type: 'session' | 'message';
  readonly info: Json;
  readonly [field: string]: unknown;
};

/**
 * Sessions whose records are rows of a database, or many small files.
 *
 * Contract: `info.id` identifies a row; reading again returns a changed row under the same id. `close` ends every reading.
 */
export interface RowsReader {
  list(): readonly FoundRows[];
  read(memberId: string): Iterable<RowRecord>;
  close(): Promise<void>;
}

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
  /** Where the agent stores its sessions unless a caller names other paths. They need not exist. */
  defaultRoots(env: Readonly<Record<string, string | undefined>>, home: string): readonly string[];
  /** Names of folders that belong to a session and hold no sessions of their own: a search skips them. */
  readonly innerFolders: readonly string[];
  /** Returns the place of the sessions that a caller's path names; `undefined` when it is not one of the agent's. */
  detect(item: FileOrFolder): Promise<TranscriptPlace | undefined>;
  /** Starts a search. The returned function may remember what it reads until the search ends; `report` receives what it could not read. */
  startSearch(report: ReportProblem): FindSessions;
  /** Starts a listing of the files of sessions, as `startSearch` does. Absent: a session is the file of its place. */
  startListing?(report: ReportProblem): ListFiles;
  /** Opens sessions whose records are not lines of files; `undefined` when the path holds none. */
  openRows?(item: FileOrFolder): Promise<RowsReader | undefined>;
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

/** How many events a batch has at least, except the last. */
const BATCH = 64;

/** Joins the events of a conversion into batches. The conversion yields a promise where it needs to read more of a file first. */
export async function* inBatches(
  steps: Iterable<readonly ConversationEvent[] | Promise<unknown>>,
): AsyncGenerator<readonly ConversationEvent[]> {
  let batch: ConversationEvent[] = [];
  for (const step of steps) {
    if (step instanceof Promise) {
      await step;
      continue;
    }
    for (const event of step) batch.push(event);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}
