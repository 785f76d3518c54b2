/** Finds sessions: walks the folders below a root and passes every file and folder to the sources. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Architecture } from '../transcripts/transcript-formats.ts';
import { listDirectory, resolvePath, subfoldersOf } from './safe-files.ts';
import type { FileOrFolder, FindSessions, FoundSession } from './transcript-source.ts';
import { entriesOf, TRANSCRIPT_SOURCES, type TranscriptSources } from './transcript-sources.ts';

/** A session that was found. `loadTranscript(path, { sessionId })` loads it. */
export interface FoundTranscript<A extends string = Architecture> extends FoundSession {
  readonly architecture: A;
}

const MAX_DEPTH = 8;
const NOT_SEARCHED: readonly string[] = ['node_modules', '.git'];

/** Finds the sessions below a root (`~/.claude`, `~/.local/share/opencode`, a project's folder, …), the newest first. */
export function findTranscripts(root: string): Promise<readonly FoundTranscript[]> {
  return findWith(TRANSCRIPT_SOURCES, root);
}

/** Finds the sessions of the given sources. */
export async function findWith<A extends string>(
  sources: TranscriptSources<A>,
  root: string,
): Promise<readonly FoundTranscript<A>[]> {
  const path = await resolvePath(root);
  const search = new Search(sources);
  if ((await stat(path)).isFile()) await search.visit({ kind: 'file', path });
  else await search.walk(path, MAX_DEPTH);
  return search.found.sort((a, b) => ((a.updatedAt ?? '') < (b.updatedAt ?? '') ? 1 : -1));
}

class Search<A extends string> {
  readonly found: FoundTranscript<A>[] = [];
  readonly #finders: readonly (readonly [A, FindSessions])[];
  readonly #notSearched: ReadonlySet<string>;

  constructor(sources: TranscriptSources<A>) {
    const entries = entriesOf(sources);
    this.#finders = entries.map(([architecture, source]) => [architecture, source.startSearch()]);
    this.#notSearched = new Set([...NOT_SEARCHED, ...entries.flatMap(([, source]) => source.innerFolders)]);
  }

  async walk(folder: string, depth: number): Promise<void> {
    const entries = await listDirectory(folder);
    if (await this.visit({ kind: 'folder', path: folder, subfolders: subfoldersOf(entries) })) return;
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.isFile()) await this.visit({ kind: 'file', path });
      else if (entry.isDirectory() && depth > 0 && !this.#notSearched.has(entry.name)) await this.walk(path, depth - 1);
    }
  }

  /** Adds the sessions in a file or a folder; false when no source knows it. */
  async visit(item: FileOrFolder): Promise<boolean> {
    for (const [architecture, find] of this.#finders) {
      // A file that cannot be read belongs to another program, under a name like ours.
      const sessions = await find(item).catch(() => undefined);
      if (sessions === undefined) continue;
      for (const session of sessions) this.found.push({ architecture, ...session });
      return true;
    }
    return false;
  }
}
