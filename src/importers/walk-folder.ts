/** Walks a folder and the folders below it: the one walk of searches, imports and listings. */
import { join } from 'node:path';
import { readEntries, subfoldersOf } from './safe-files.ts';
import type { FileOrFolder, ReportProblem, TranscriptSource } from './transcript-source.ts';

/** How deep sessions are looked for. */
export const SEARCH_DEPTH = 8;
/** Folders that hold no sessions, only many files. */
export const NOT_SEARCHED: readonly string[] = ['node_modules', '.git'];

/** What a walk calls, in the order of names. */
export interface FolderVisitor {
  /** Called with a folder before what is in it; true: nothing in it is visited. */
  folder?(item: FileOrFolder): Promise<boolean>;
  file(path: string): Promise<void> | void;
  link?(path: string): void;
  /** Whether a folder of this name is walked. Default: every one. */
  enters?(name: string): boolean;
  /** Receives the folders that cannot be read, and the names that are not UTF-8. */
  readonly report?: ReportProblem | undefined;
}

/** Walks a folder down to `depth` folders below it. Symbolic links are not followed. */
export async function walkFolder(folder: string, depth: number, visitor: FolderVisitor): Promise<void> {
  const entries = await readEntries(folder, visitor.report);
  if (await visitor.folder?.({ kind: 'folder', path: folder, subfolders: subfoldersOf(entries) })) return;
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) visitor.link?.(path);
    else if (entry.isFile()) await visitor.file(path);
    else if (entry.isDirectory() && depth > 0 && visitor.enters?.(entry.name) !== false)
      await walkFolder(path, depth - 1, visitor);
  }
}

/** Which folders a search of sources enters: those that belong to a session hold no others. */
export function searchedFolders(sources: readonly Pick<TranscriptSource, 'innerFolders'>[]): (name: string) => boolean {
  const skipped = new Set([...NOT_SEARCHED, ...sources.flatMap(({ innerFolders }) => innerFolders)]);
  return (name) => !skipped.has(name);
}
