/**
 * The rows of an imported session, as lines of JSON: `{ type: 'session', info }`, `{ type: 'message', info, parts }`, and `{ type: 'removed', id }`
 * for a message that the agent removed. A later line of the same id replaces an earlier one.
 */
import { asName, asObject, type Json, parseJson } from '../../transcripts/json-access.ts';
import { byCreation } from '../../transcripts/opencode/time.ts';
import { bytesOf, type KeptFile, type KeptLog } from './kept-log.ts';

/** The key of the row about the session itself. */
const SESSION = '';

/** The rows of one member of a session, by key. */
export type KeptRows = ReadonlyMap<string, { readonly line: string; readonly row: Json }>;

/** The key of a row. */
export function rowKey(row: Json): string {
  return row.type === 'session' ? SESSION : (asName(asObject(row.info)?.id) ?? asName(row.id) ?? SESSION);
}

/** Reads the rows that are valid now. */
export async function readKeptRows(log: KeptLog, file: KeptFile | undefined): Promise<KeptRows> {
  const rows = new Map<string, { readonly line: string; readonly row: Json }>();
  if (file === undefined) return rows;
  for (const batch of file.batches) {
    for (const line of (await bytesOf(log, batch)).toString('utf8').split('\n')) {
      const row = asObject(parseJson(line));
      if (row === undefined) continue;
      if (row.type === 'removed') rows.delete(rowKey(row));
      else rows.set(rowKey(row), { line, row });
    }
  }
  return rows;
}

/** The line of a message that the agent removed. */
export function removedLine(key: string): string {
  return JSON.stringify({ type: 'removed', id: key });
}

/** The keys of erased rows: they are not imported again, whatever they hold now. */
export function erasedKeys(file: KeptFile | undefined): ReadonlySet<string> {
  const ranges = file?.batches.flatMap(({ erased }) => erased ?? []) ?? [];
  return new Set(ranges.flatMap(({ key }) => key ?? []));
}

/** The rows as `opencode export` prints them. */
export function exportOfRows(rows: KeptRows): { readonly info: Json; readonly messages: readonly Json[] } {
  const messages = [...rows.values()].flatMap(({ row }) => {
    const info = asObject(row.info);
    return row.type === 'message' && info ? [{ info, parts: row.parts ?? [] }] : [];
  });
  messages.sort((a, b) => byCreation(a.info, b.info));
  return { info: asObject(rows.get(SESSION)?.row.info) ?? {}, messages };
}
