/**
 * The events of an imported session (D75). Its log holds the records of its source, another agent's files or rows, in order and byte for
 * byte. The fields are here; `events.ts` adds the envelope.
 */

/** How the bytes of a batch are written as text. */
export type SourceEncoding = 'utf8' | 'base64' | 'zstd' | 'deflate';

/** Whether a source consists of files, or of rows that are stored as one JSON text per line. */
export type SourceLayout = 'files' | 'rows';

/** A range of a file's bytes and the SHA-256 of what they were. */
export interface SourceRange {
  readonly offset: number;
  readonly bytes: number;
  readonly hash: string;
}

/** Records that were erased. */
export interface ErasedRange extends SourceRange {
  /** Identifies an erased row, which the agent may change later. */
  readonly key?: string;
  /** The SHA-256 of an erased line without its line end: a rewritten file is imported without that line. */
  readonly record?: string;
}

/** The agent's own listing of the session: where it is, what it is called. For listings of sessions; no view of the records reads it. */
export interface SourceDescribedFields {
  readonly type: 'source/described';
  readonly architecture: string;
  /** The id that the agent gave the session. */
  readonly sessionId: string;
  readonly path: string;
  readonly layout: SourceLayout;
  readonly title?: string;
  readonly cwd?: string;
  readonly createdAt?: string;
  readonly messages?: number;
}

/** A batch of records. A batch that starts before the end of its file replaces a torn last line that was recorded before. */
export interface SourceRecordedFields extends SourceRange {
  readonly type: 'source/recorded';
  /** The file's path relative to the folder of the main file, or the id of the session whose rows these are. */
  readonly file: string;
  /** What the file is to the session; views read no `other` file. */
  readonly role: 'main' | 'subagent' | 'meta' | 'other';
  /** The subagent that the file belongs to. */
  readonly agentId?: string;
  /** 1 for the file as it was found first, one more each time it was rewritten. */
  readonly generation: number;
  readonly encoding: SourceEncoding;
  /** The encoded bytes, unless they are external content. */
  readonly data?: string;
  /** The name of the external content that holds the encoded bytes. */
  readonly content?: string;
  /** The state of the source when it was read up to here: an equal one needs no reading. Absent if more is left. */
  readonly stamp?: string;
  /** The bytes are not the source's: `redact` changed them. Range and hash are those of the original. */
  readonly redacted?: true;
  /** Records that were erased from the batch: they are no longer in its bytes, and importing again does not bring them back. */
  readonly erased?: readonly ErasedRange[];
}

/** A file was rewritten: its records follow as a new generation. */
export interface SourceReplacedFields {
  readonly type: 'source/replaced';
  readonly file: string;
  /** The new generation. */
  readonly generation: number;
}
