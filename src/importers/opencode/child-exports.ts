/** Exports of child sessions beside their parent's export: in its folder or in the folder `children` below that. */
import { dirname, join } from 'node:path';
import { asName } from '../../transcripts/json-access.ts';
import { type OpenCodeExport, parseExport } from '../../transcripts/opencode/export.ts';
import type { SubagentTranscript } from '../../transcripts/raw-transcript.ts';
import { listDirectory, readFileBelow } from '../safe-files.ts';

const MAX_BYTES = 64 * 1024 * 1024;

/** The descendants of an exported session whose exports are found. */
export async function findChildExports(
  path: string,
  main: OpenCodeExport,
): Promise<readonly (SubagentTranscript & { readonly path: string })[]> {
  const directory = dirname(path);
  const candidates: {
    readonly id: string;
    readonly parentId: string;
    readonly transcript: string;
    readonly path: string;
  }[] = [];
  for (const folder of [directory, join(directory, 'children')]) {
    for (const entry of await listDirectory(folder)) {
      if (!entry.isFile() || !entry.name.endsWith('.json')) continue;
      const transcript = await readFileBelow(directory, join(folder, entry.name), MAX_BYTES);
      const info = transcript === undefined ? undefined : parseExport(transcript)?.info;
      const id = asName(info?.id);
      const parentId = asName(info?.parentID);
      if (transcript !== undefined && id !== undefined && parentId !== undefined) {
        candidates.push({ id, parentId, transcript, path: join(folder, entry.name) });
      }
    }
  }
  const known = new Set([asName(main.info.id) ?? '']);
  const found: (SubagentTranscript & { readonly path: string })[] = [];
  for (let before = -1; before < found.length; ) {
    before = found.length;
    for (const { id, parentId, transcript, path: file } of candidates) {
      if (known.has(id) || !known.has(parentId)) continue;
      known.add(id);
      found.push({ id, transcript, path: file });
    }
  }
  return found;
}
