import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { isHoldfastError, messageOf } from '../../core/errors.ts';
import type { ImportProgress, ImportResult } from '../../importers/kept/import-context.ts';
import { importTranscripts } from '../../importers/kept/import-transcripts.ts';
import type { Store } from '../../ports/store.ts';
import { printableLine } from '../printable.ts';
import { StatusLine } from '../status-line.ts';

/** The database that the transcripts of a folder are imported into; without a folder, those of the agents' usual folders. */
export function databaseFor(folder: string | undefined, env: NodeJS.ProcessEnv = process.env): string {
  const home = env.HOLDFAST_HOME || join(homedir(), '.holdfast');
  mkdirSync(home, { recursive: true, mode: 0o700 }); // conversations are private
  if (folder === undefined) return join(home, 'studio.db');
  const name = basename(folder).replace(/[^\w.-]+/g, '-') || 'root';
  const hash = createHash('sha256').update(folder).digest('hex').slice(0, 8);
  return join(home, `studio-${name}-${hash}.db`);
}

/**
 * Imports the transcripts of a folder, prints what was found, and follows them until the signal aborts. Without a folder: the agents' usual
 * ones. Never rejects: Studio shows what was imported before.
 */
export async function importFolders(store: Store, folder: string | undefined, signal: AbortSignal): Promise<void> {
  const paths = folder === undefined ? {} : { paths: [folder] };
  const line = new StatusLine();
  const show = ({ files, sessions, bytes }: ImportProgress): void =>
    line.show(`Importing: ${sessions} sessions, ${size(bytes)}, ${files} files`);
  try {
    const first = await importTranscripts(store, { ...paths, signal, onProgress: show });
    line.clear();
    if (signal.aborted) return;
    for (const text of reportOf(first, folder)) console.log(text);
    await importTranscripts(store, { ...paths, signal, watch: true });
  } catch (error) {
    line.clear();
    if (signal.aborted || isHoldfastError(error, 'SESSION_CLOSED')) return;
    console.error(`The import has ended: ${printableLine(messageOf(error))}. Studio shows what was imported before.`);
  }
}

const SHOWN_PROBLEMS = 3;

function reportOf(
  { sessions, unchanged, bytes, problems }: ImportResult,
  folder: string | undefined,
): readonly string[] {
  const found = sessions + unchanged;
  if (found === 0 && problems.length === 0) {
    const where = folder ?? 'the folders of Claude Code, Codex and OpenCode';
    return [`There are no transcripts in ${printableLine(where)} yet; new ones will appear in Studio.`];
  }
  const further = problems.length - SHOWN_PROBLEMS;
  return [
    sessions === 0
      ? `Nothing new in ${unchanged} sessions; new messages appear in Studio as they are written.`
      : `Imported ${sessions} of ${found} sessions (${size(bytes)}); new messages appear in Studio as they are written.`,
    ...problems
      .slice(0, SHOWN_PROBLEMS)
      .map(({ path, message }) => `  not imported: ${printableLine(path)}: ${printableLine(message)}`),
    ...(further > 0 ? [`  and ${further} more that could not be imported`] : []),
  ];
}

function size(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
