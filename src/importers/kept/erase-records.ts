/** Erases records of an imported session for good (D58, D75). */
import type { ErasedRange } from '../../core/log/source-events.ts';
import type { Store } from '../../ports/store.ts';
import { encodeBytes } from '../../stores/source-bytes.ts';
import { asObject, parseJson } from '../../transcripts/json-access.ts';
import { linesIn } from './erased-lines.ts';
import { bytesOf, type KeptBatch, type KeptLog, readKept } from './kept-log.ts';
import { rowKey } from './kept-rows.ts';
import { hashOf } from './record-appender.ts';

/** A record of an imported session: a line of a file, or a row. */
export interface ImportedRecord {
  readonly file: string;
  readonly generation: number;
  /** Whether a later generation has replaced the file. */
  readonly isReplaced: boolean;
  /** The position of the event that holds it, which `store.search` also returns. */
  readonly seq: number;
  readonly text: string;
}

/**
 * Erases the records of an imported session that `isErased` chooses, from the log, its contents and the search index. Each leaves a mark
 * (range and hash), so that importing again does not bring it back, also when the agent has rewritten its file. A record of a replaced generation
 * that the newest one also has may be imported again. The session can no longer be restored. Returns the number of erased records.
 */
export async function eraseRecords(
  store: Store,
  id: string,
  isErased: (record: ImportedRecord) => boolean,
): Promise<number> {
  const log = await readKept(store, id);
  let count = 0;
  /** The hashes of the lines that the newest generations still have. */
  const present = new Set<string>();
  for (const file of [...log.files.values(), ...log.replaced]) {
    const isReplaced = log.files.get(file.name) !== file;
    for (const batch of file.batches) {
      const found = await chooseFrom(log, batch, (text) => isErased({ ...placeOf(batch), isReplaced, text }), present);
      if (!isReplaced && log.replaced.length > 0) {
        for (const { content } of linesIn(found.left)) present.add(hashOf(content));
      }
      if (found.erased.length === 0) continue;
      // What quotes the record goes first: after a crash the record is still there to be chosen again.
      await eraseTitles(log, found.texts);
      for (const torn of log.torn) {
        if (isWithin(torn, batch, found.erased)) await replace(log, torn, Buffer.alloc(0), [rangeOf(torn)]);
      }
      await replace(log, batch, found.left, found.erased);
      count += found.erased.length;
    }
  }
  return count;
}

/** What is to be erased from a batch, and what is left of it. */
interface Chosen {
  readonly erased: readonly ErasedRange[];
  readonly texts: readonly string[];
  readonly left: Buffer;
}

async function chooseFrom(
  log: KeptLog & { readonly source: { readonly layout: string } },
  batch: KeptBatch,
  isChosen: (text: string) => boolean,
  present: ReadonlySet<string>,
): Promise<Chosen> {
  const bytes = await bytesOf(log, batch);
  const left: Buffer[] = [];
  const erased: ErasedRange[] = [];
  const texts: string[] = [];
  // Positions in a batch that was changed are not those of the source: its marks cover the whole batch.
  const isExact = !batch.redacted && !batch.erased;
  for (const { start, bytes: line, content } of linesIn(bytes)) {
    const text = content.toString('utf8');
    if (text !== '' && isChosen(text)) {
      const row = log.source.layout === 'rows' ? asObject(parseJson(text)) : undefined;
      const record = hashOf(content);
      const isMarked = row === undefined && !present.has(record);
      const range = { offset: batch.offset + start, bytes: line.length, hash: hashOf(line) };
      erased.push({
        ...(isExact ? range : rangeOf(batch)),
        ...(row && { key: rowKey(row) }),
        ...(isMarked && { record }),
      });
      texts.push(text);
    } else left.push(line);
  }
  return { erased, texts, left: Buffer.concat(left) };
}

async function replace(log: KeptLog, batch: KeptBatch, left: Buffer, erased: readonly ErasedRange[]): Promise<void> {
  const { content: _, data: __, encoding: ___, ...rest } = batch;
  const marked = { ...rest, ...encodeBytes(left), erased: [...(batch.erased ?? []), ...erased] };
  await log.store.replaceEvent(log.id, marked, { incarnation: log.incarnation, contents: [] });
}

/** Removes titles that quote an erased record: an agent's title is often the first prompt. */
async function eraseTitles(log: KeptLog, texts: readonly string[]): Promise<void> {
  for (const { title = '', ...event } of log.titled) {
    const quoted = JSON.stringify(title.replace(/…$/, '')).slice(1, -1);
    if (texts.some((text) => text.includes(quoted))) {
      await log.store.replaceEvent(log.id, event, { incarnation: log.incarnation });
    }
  }
}

function placeOf({ file, generation, seq }: KeptBatch): Pick<ImportedRecord, 'file' | 'generation' | 'seq'> {
  return { file, generation, seq };
}

function rangeOf({ offset, bytes, hash }: KeptBatch): ErasedRange {
  return { offset, bytes, hash };
}

/** Whether a torn line is the beginning of an erased record. */
function isWithin(torn: KeptBatch, batch: KeptBatch, erased: readonly ErasedRange[]): boolean {
  return (
    torn.file === batch.file &&
    torn.generation === batch.generation &&
    erased.some(({ offset, bytes }) => torn.offset >= offset && torn.offset < offset + bytes)
  );
}
