/** Exports of child sessions beside their parent's export: in its folder or in the folder `children` below that. */
import { dirname, join } from 'node:path';
import { asName } from '../../transcripts/json-access.ts';
import { type OpenCodeExport, parseExport } from '../../transcripts/opencode/export.ts';
import { listDirectory, readFileBelow } from '../safe-files.ts';
import { familiesIn } from './sessions.ts';

const MAX_BYTES = 64 * 1024 * 1024;

/** The export of a child session. */
interface ChildExport {
  readonly id: string;
  readonly parentId: string;
  readonly transcript: string;
  readonly path: string;
}

/** The descendants of an exported session whose exports are found. */
export async function findChildExports(path: string, main: OpenCodeExport): Promise<readonly ChildExport[]> {
  const directory = dirname(path);
  const candidates: ChildExport[] = [];
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
  const [, ...found] = familiesIn(candidates)({ id: asName(main.info.id) ?? '', parentId: '', transcript: '', path });
  return found;
}
