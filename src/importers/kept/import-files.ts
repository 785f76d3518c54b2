/**
 * Imports the files of one session.
 *
 *     unchanged stamp ─▶ nothing is read
 *     grown, and the recorded ends are the same ─▶ the new bytes
 *     anything else ─▶ every recorded batch is compared: the same ─▶ the new bytes, if any; different ─▶ a new generation
 */

import { isUtf8 } from 'node:buffer';
import { closeSync, fstatSync, readSync, type Stats } from 'node:fs';
import type { SourceDescribedFields } from '../../core/log/source-events.ts';
import { type SourceFileSummary, sourceFile } from '../../core/summary/source-summary.ts';
import { openFileSync } from '../safe-files.ts';
import type { SessionFile } from '../transcript-source.ts';
import { ErasedLines } from './erased-lines.ts';
import type { ImportContext, Outcome } from './import-context.ts';
import type { KeptBatch, KeptLog } from './kept-log.ts';
import { type FileBatch, readBatches } from './read-batches.ts';
import { hashOf, RecordAppender, timeIn, validTime } from './record-appender.ts';

const NEWLINE = 10;

/** The state of a file that shows whether it may have changed. */
export function stampOf({ size, mtimeMs, ino }: Pick<Stats, 'size' | 'mtimeMs' | 'ino'>): string {
  return `${size}:${mtimeMs}:${ino}`;
}

/** What a search found out about a session. */
export interface FoundSource {
  readonly described: SourceDescribedFields;
  readonly updatedAt: string | undefined;
}

/** Reads the log that a session is imported into. */
export type LocateLog = () => Promise<KeptLog>;

/** Imports what is new of a session's files. */
export async function importFiles(
  context: ImportContext,
  locate: LocateLog,
  files: readonly SessionFile[],
  found: FoundSource,
): Promise<Outcome> {
  return await context.untilFresh(async () => {
    const log = await locate();
    if (log.seq === 0 && log.incarnation > 1) return 'deleted';
    const session = new SessionImport(context, log, found);
    for (const file of files) await session.add(file);
    return await session.finish();
  });
}

class SessionImport {
  readonly #context: ImportContext;
  readonly #log: KeptLog;
  readonly #found: FoundSource;
  readonly #appender: RecordAppender;
  readonly #erased: ErasedLines;
  #isChanged = false;

  constructor(context: ImportContext, log: KeptLog, found: FoundSource) {
    this.#context = context;
    this.#log = log;
    this.#found = found;
    this.#erased = new ErasedLines(log);
    this.#appender = new RecordAppender(log, (bytes) => context.recorded(bytes));
  }

  /** Imports a file. One that cannot be read is a problem, and the others are imported. */
  async add(file: SessionFile): Promise<void> {
    let fd: number;
    try {
      fd = openFileSync(file.path); // for many small files, a round trip to Node's thread pool takes longer than the reading
    } catch (error) {
      this.#context.problem('unreadable', file.path, error);
      return;
    }
    try {
      await this.#read(file, fd);
    } finally {
      closeSync(fd);
    }
  }

  async finish(): Promise<Outcome> {
    await this.#appender.commit();
    return this.#isChanged ? 'changed' : 'unchanged';
  }

  async #read(file: SessionFile, fd: number): Promise<void> {
    const stat = fstatSync(fd);
    if (hasMoved(this.#found.described, this.#log)) this.#begin(stat);
    const known = sourceFile(this.#log.source, file.name);
    if (known?.stamp === stampOf(stat)) return;
    if (stat.size > this.#context.options.maxFileBytes) {
      const why = `it has ${stat.size} bytes; raise maxFileBytes to import files of more than ${this.#context.options.maxFileBytes}`;
      this.#context.problem('too-large', file.path, why);
      return;
    }
    const batches = this.#log.files.get(file.name)?.batches ?? [];
    const end = endOf(batches);
    let generation = known?.generation ?? 1;
    let from = end;
    let isContinued = false;
    if (batches.length > 0 && !this.#continues(fd, stat, batches, known)) {
      generation++;
      from = 0;
      this.#begin(stat);
      this.#appender.add({ type: 'source/replaced', file: file.name, generation }, this.#timeOf(stat));
    } else if (batches.length > 0) {
      if (stat.size === end) return; // the file was only touched
      const last = isTornAt(fd, end) ? batches.at(-1) : undefined;
      from = last?.offset ?? end;
      isContinued = last?.erased !== undefined;
    }
    this.#begin(stat);
    if (from === stat.size) await this.#record(file, generation, fd, stat, EMPTY, false);
    for (const batch of readBatches(fd, from, stat.size)) {
      this.#context.check();
      const committing = this.#record(file, generation, fd, stat, batch, isContinued && batch.offset === from);
      if (committing) await committing; // a small file is read and encoded in one go
    }
  }

  /** Describes the source before its first new record. */
  #begin(stat: Stats): void {
    if (this.#isChanged) return;
    this.#isChanged = true;
    describeSource(this.#appender, this.#found.described, this.#log, this.#timeOf(stat));
  }

  #timeOf({ mtimeMs }: Stats): string {
    return validTime(this.#found.updatedAt) ?? new Date(Math.min(Math.max(0, mtimeMs), Date.now())).toISOString();
  }

  #record(
    file: SessionFile,
    generation: number,
    fd: number,
    stat: Stats,
    batch: FileBatch,
    isContinued: boolean,
  ): Promise<void> | undefined {
    const { name, role, agentId } = file;
    const { offset, bytes, isLast } = batch;
    const { redact } = this.#context.options;
    const left = this.#erased.leaveOut(bytes, offset, { isContinued, redact });
    return this.#appender.record({
      file: name,
      role,
      ...(agentId !== undefined && { agentId }),
      generation,
      offset,
      bytes,
      redacted: redact && redactedBytes(left?.bytes ?? bytes, redact),
      left,
      at: timeIn(bytes) ?? this.#timeOf(stat),
      ...(isLast && isUnchanged(stat, fstatSync(fd)) && { stamp: stampOf(stat) }),
    });
  }

  /** Whether the file still begins with what was recorded of it. */
  #continues(fd: number, stat: Stats, batches: readonly KeptBatch[], known: SourceFileSummary | undefined): boolean {
    const end = endOf(batches);
    if (stat.size < end) return false;
    const [size, , ino] = known?.stamp?.split(':') ?? [];
    // Agents append: then both ends of what was recorded show that the file was not rewritten.
    const isGrown = Number(size) === end && ino === String(stat.ino) && stat.size > end;
    const [first, last] = [batches[0], batches.at(-1)];
    const compared = isGrown && first && last ? [first, last] : batches;
    for (const { offset, bytes, hash } of compared) {
      this.#context.check();
      const recorded = Buffer.allocUnsafe(bytes);
      if (readSync(fd, recorded, 0, bytes, offset) !== bytes || hashOf(recorded) !== hash) return false;
    }
    return true;
  }
}

const EMPTY: FileBatch = { offset: 0, bytes: Buffer.alloc(0), isLast: true };

function endOf(batches: readonly KeptBatch[]): number {
  const last = batches.at(-1);
  return last ? last.offset + last.bytes : 0;
}

/** Whether the recorded part of a file ends within a line. */
function isTornAt(fd: number, end: number): boolean {
  const last = Buffer.alloc(1);
  return readSync(fd, last, 0, 1, end - 1) === 1 && last[0] !== NEWLINE;
}

/** A file that was cut or rewritten while it was read gets no stamp, so that the next import compares it. One that has grown does. */
function isUnchanged(before: Stats, after: Stats): boolean {
  return after.size > before.size || (after.size === before.size && after.mtimeMs === before.mtimeMs);
}

/** The bytes of redacted records; `undefined` when redaction changed nothing. */
export function redactedBytes(bytes: Buffer, redact: (record: string) => string): Buffer | undefined {
  const lines = bytes.toString('utf8').split('\n');
  const redacted = lines.map((line) => (line === '' ? line : redact(line)));
  if (isUtf8(bytes) && redacted.every((line, i) => line === lines[i])) return undefined;
  return Buffer.from(redacted.join('\n'));
}

/** Records the description of a source, unless the log has the same. */
export function describeSource(
  appender: RecordAppender,
  described: SourceDescribedFields,
  log: KeptLog,
  at: string,
): void {
  const again = describedAgain(described, log);
  if (!isSame(again, log.described)) appender.add(again, at);
}

/** A description without a new title if records were erased: a source's title may quote them. */
function describedAgain(described: SourceDescribedFields, log: KeptLog): SourceDescribedFields {
  if (!log.source?.erased) return described;
  const { title: _, ...rest } = described;
  const { title } = log.described ?? {};
  return title === undefined ? rest : { ...rest, title };
}

/** Whether a source is at another path than when it was imported. The next import looks for it at the recorded one. */
export function hasMoved({ path }: SourceDescribedFields, { described }: KeptLog): boolean {
  return described !== undefined && described.path !== path;
}

/** Whether two descriptions say the same. */
function isSame(described: SourceDescribedFields, before: SourceDescribedFields | undefined): boolean {
  const fields = ['architecture', 'sessionId', 'path', 'layout', 'title', 'cwd', 'createdAt', 'messages'] as const;
  return before !== undefined && fields.every((field) => described[field] === before[field]);
}
