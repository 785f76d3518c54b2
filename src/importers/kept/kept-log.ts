/**
 * The log of an imported session, as far as it says which bytes are recorded where. The bytes themselves are read when they are wanted.
 *
 *     source/recorded …0‥4 kB, …4‥9 kB, torn 9‥9.1 kB ─▶ source/recorded 9‥12 kB (replaces the torn line) ─▶ source/replaced (generation 2) ─▶ …
 */
import { HoldfastError } from '../../core/errors.ts';
import type { EventEnvelope } from '../../core/log/events.ts';
import type { SourceDescribedFields, SourceRecordedFields } from '../../core/log/source-events.ts';
import { followSource, type SourceSummary } from '../../core/summary/source-summary.ts';
import type { Store } from '../../ports/store.ts';
import { recordedBytes } from '../../stores/source-bytes.ts';

/** A batch of records and its place in the log. */
export interface KeptBatch extends SourceRecordedFields {
  readonly seq: number;
  readonly at: string;
}

/** One generation of a file. */
export interface KeptFile {
  readonly name: string;
  readonly role: SourceRecordedFields['role'];
  readonly agentId?: string;
  readonly generation: number;
  /** In order, without gaps and overlaps. */
  readonly batches: readonly KeptBatch[];
}

/** An imported session's log. */
export interface KeptLog {
  readonly store: Store;
  readonly id: string;
  readonly incarnation: number;
  readonly seq: number;
  /** Absent for a session without events. */
  readonly source?: SourceSummary;
  /** The newest description of the source. */
  readonly described?: SourceDescribedFields;
  /** All descriptions that have a title. */
  readonly titled: readonly (EventEnvelope & SourceDescribedFields)[];
  /** The newest generation of each file. */
  readonly files: ReadonlyMap<string, KeptFile>;
  /** Torn lines that were recorded again when they were whole. */
  readonly torn: readonly KeptBatch[];
  /** The generations that were replaced, oldest first. */
  readonly replaced: readonly KeptFile[];
}

/**
 * Reads the log of an imported session. Throws `SESSION_NOT_FOUND` when there is none, or it was deleted, and `INVALID_ARGUMENT` when it is a session of our own.
 */
export async function readKept(store: Store, id: string): Promise<KeptLog & { readonly source: SourceSummary }> {
  const log = await readKeptLog(store, id);
  if (log.seq === 0) {
    const why = log.incarnation > 1 ? 'was deleted; importing again does not bring it back' : 'does not exist';
    throw new HoldfastError('SESSION_NOT_FOUND', `session ${id} ${why}; listSessions lists the others`);
  }
  const { source } = log;
  if (source !== undefined) return { ...log, source };
  throw new HoldfastError('INVALID_ARGUMENT', `session ${id} was not imported; its own log is what there is of it`);
}

/** Reads the log of a session that may not exist yet, or may be one of our own. */
export async function readKeptLog(store: Store, id: string): Promise<KeptLog> {
  const { incarnation, seq: head } = await store.head(id);
  const files = new Map<string, KeptFile & { readonly batches: KeptBatch[] }>();
  const replaced: KeptFile[] = [];
  const torn: KeptBatch[] = [];
  let source: SourceSummary | undefined;
  let described: SourceDescribedFields | undefined;
  const titled: (EventEnvelope & SourceDescribedFields)[] = [];
  let seq = 0;
  const events = head === 0 ? [] : store.read(id, { incarnation }); // most sessions are imported once
  for await (const event of events) {
    seq = event.seq;
    if (event.type !== 'source/described' && event.type !== 'source/recorded' && event.type !== 'source/replaced')
      continue;
    source = followSource(source, event);
    if (event.type === 'source/described') {
      described = event;
      if (event.title !== undefined) titled.push(event);
    }
    if (event.type === 'source/replaced') {
      const before = files.get(event.file);
      if (before) replaced.push(before);
      files.delete(event.file);
    } else if (event.type === 'source/recorded') {
      const { file: name, role, agentId, generation } = event;
      const ofAgent = agentId !== undefined && { agentId };
      const file = files.get(name) ?? { name, role, generation, batches: [], ...ofAgent };
      files.set(name, file);
      while ((file.batches.at(-1)?.offset ?? -1) >= event.offset) torn.push(file.batches.pop() as KeptBatch); // it is whole now
      file.batches.push(event);
    }
  }
  const found = { ...(source && { source }), ...(described && { described }) };
  return { store, id, incarnation, seq, files, torn, replaced, titled, ...found };
}

/** Reads the bytes of a batch. Throws `STORE_CORRUPT` when they are missing or damaged. */
export async function bytesOf(log: Pick<KeptLog, 'store' | 'id' | 'incarnation'>, batch: KeptBatch): Promise<Buffer> {
  const { store, id, incarnation } = log;
  try {
    const data = batch.content === undefined ? batch.data : await store.readContent(id, batch.content, { incarnation });
    const bytes = recordedBytes(batch, () => data);
    if (bytes !== undefined) return bytes;
  } catch (cause) {
    throw damaged(id, batch, cause);
  }
  throw damaged(id, batch);
}

function damaged(id: string, { seq }: KeptBatch, cause?: unknown): HoldfastError {
  return new HoldfastError(
    'STORE_CORRUPT',
    `the records at ${seq} of session ${id} cannot be read; run check() and restore a backup`,
    { cause },
  );
}
