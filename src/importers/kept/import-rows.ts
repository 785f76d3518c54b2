/** Imports one session whose records are rows. Rows change in place: the new and the changed ones are appended, and those that are gone marked. */
import type { SourceDescribedFields } from '../../core/log/source-events.ts';
import { sourceFile } from '../../core/summary/source-summary.ts';
import type { FoundRows, RowsReader, SessionRows } from '../transcript-source.ts';
import type { ImportContext, Outcome } from './import-context.ts';
import { describeSource, hasMoved, type LocateLog, redactedBytes } from './import-files.ts';
import type { KeptLog } from './kept-log.ts';
import { erasedKeys, readKeptRows, removedLine, rowKey } from './kept-rows.ts';
import { RecordAppender, validTime } from './record-appender.ts';

const BATCH = 128 * 1024;

/** Imports what is new of a session's rows. */
export async function importRows(
  context: ImportContext,
  locate: LocateLog,
  { found, members }: FoundRows,
  reader: RowsReader,
  described: SourceDescribedFields,
): Promise<Outcome> {
  return await context.untilFresh(async () => {
    const log = await locate();
    if (log.seq === 0 && log.incarnation > 1) return 'deleted';
    const at = validTime(found.updatedAt) ?? new Date().toISOString();
    const appender = new RecordAppender(log, (bytes) => context.recorded(bytes));
    let isChanged = false;
    const begin = (): void => {
      if (!isChanged) describeSource(appender, described, log, at);
      isChanged = true;
    };
    if (hasMoved(described, log)) begin();
    for (const [i, member] of members.entries()) {
      const { stamp } = member;
      if (stamp !== undefined && sourceFile(log.source, member.id)?.stamp === stamp) continue;
      const lines = await changedLines(context, log, member, reader);
      if (lines.length === 0) continue;
      begin();
      await append(context, appender, { log, member, isMain: i === 0, at }, lines);
    }
    await appender.commit();
    return isChanged ? 'changed' : 'unchanged';
  });
}

/** The lines of the rows that differ from the recorded ones. */
async function changedLines(
  context: ImportContext,
  log: KeptLog,
  { id }: SessionRows,
  reader: RowsReader,
): Promise<readonly string[]> {
  const file = log.files.get(id);
  const known = await readKeptRows(log, file);
  const erased = erasedKeys(file);
  const left = new Set(known.keys());
  const lines: string[] = [];
  for (const row of reader.read(id)) {
    context.check();
    const key = rowKey(row);
    left.delete(key);
    if (erased.has(key)) continue;
    const line = JSON.stringify(row);
    const recorded = context.options.redact ? context.options.redact(line) : line;
    if (known.get(key)?.line !== recorded) lines.push(line);
  }
  for (const key of left) lines.push(removedLine(key));
  return lines;
}

async function append(
  context: ImportContext,
  appender: RecordAppender,
  where: { readonly log: KeptLog; readonly member: SessionRows; readonly isMain: boolean; readonly at: string },
  lines: readonly string[],
): Promise<void> {
  const { log, member, isMain, at } = where;
  let offset = sourceFile(log.source, member.id)?.end ?? 0;
  let batch: string[] = [];
  let length = 0;
  for (const [i, line] of lines.entries()) {
    batch.push(line);
    length += line.length;
    const isLast = i === lines.length - 1;
    if (length < BATCH && !isLast) continue;
    const bytes = Buffer.from(`${batch.join('\n')}\n`);
    await appender.record({
      file: member.id,
      role: isMain ? 'main' : 'subagent',
      ...(!isMain && { agentId: member.id }),
      generation: 1,
      offset,
      bytes,
      redacted: context.options.redact && redactedBytes(bytes, context.options.redact),
      at,
      ...(isLast && member.stamp !== undefined && { stamp: member.stamp }),
    });
    offset += bytes.length;
    batch = [];
    length = 0;
  }
}
