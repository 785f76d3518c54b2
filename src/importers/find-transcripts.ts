/** Finds sessions: walks the folders below a root and passes every file and folder to the sources. */
import { stat } from 'node:fs/promises';
import { messageOf } from '../core/errors.ts';
import type { Architecture } from '../transcripts/agent-names.ts';
import { isUnreadable, resolvePath } from './safe-files.ts';
import type { FileOrFolder, FindSessions, FoundSession, ReportProblem, SearchProblem } from './transcript-source.ts';
import { entriesOf, TRANSCRIPT_SOURCES, type TranscriptSources } from './transcript-sources.ts';
import { SEARCH_DEPTH, searchedFolders, walkFolder } from './walk-folder.ts';

/** A session that was found. `loadTranscript(path, { sessionId })` loads it. */
export interface FoundTranscript<A extends string = Architecture> extends FoundSession {
  readonly architecture: A;
}

/** Options of `findTranscripts`. */
export interface FindTranscriptsOptions {
  /** Receives the files and folders that could not be read. Default: one process warning for each search that has some. */
  readonly onProblem?: (problem: SearchProblem) => void;
}

/**
 * Finds the sessions below a root (`~/.claude`, `~/.codex`, `~/.local/share/opencode`, a project's folder, …), the newest first. What cannot be read is
 * reported and skipped.
 */
export function findTranscripts(
  root: string,
  options: FindTranscriptsOptions = {},
): Promise<readonly FoundTranscript[]> {
  return findWith(TRANSCRIPT_SOURCES, root, options);
}

/** Finds the sessions of the given sources. */
export async function findWith<A extends string>(
  sources: TranscriptSources<A>,
  root: string,
  { onProblem }: FindTranscriptsOptions = {},
): Promise<readonly FoundTranscript<A>[]> {
  const path = await resolvePath(root);
  const problems = new Map<string, SearchProblem>();
  const search = new Search(sources, (problem) => {
    if (problems.has(problem.path)) return; // several sources look at one folder
    problems.set(problem.path, problem);
    onProblem?.(problem);
  });
  if ((await stat(path)).isFile()) await search.visit({ kind: 'file', path });
  else await search.walk(path);
  const [first] = problems.values();
  if (first !== undefined && onProblem === undefined) warn(first, problems.size);
  return search.found.sort((a, b) => ((a.updatedAt ?? '') < (b.updatedAt ?? '') ? 1 : -1));
}

function warn({ path, message }: SearchProblem, count: number): void {
  const others = count === 1 ? '' : ` and ${count - 1} more`;
  const text = `transcripts could not be read: ${path} (${message})${others}; findTranscripts reports each to its option onProblem`;
  process.emitWarning(text, { code: 'HOLDFAST_UNREADABLE_TRANSCRIPT' });
}

class Search<A extends string> {
  readonly found: FoundTranscript<A>[] = [];
  readonly #finders: readonly (readonly [A, FindSessions])[];
  readonly #enters: (name: string) => boolean;
  readonly #report: ReportProblem;

  constructor(sources: TranscriptSources<A>, report: ReportProblem) {
    const entries = entriesOf(sources);
    this.#report = report;
    this.#finders = entries.map(([architecture, source]) => [architecture, source.startSearch(report)]);
    this.#enters = searchedFolders(entries.map(([, source]) => source));
  }

  async walk(folder: string): Promise<void> {
    await walkFolder(folder, SEARCH_DEPTH, {
      folder: (item) => this.visit(item),
      file: async (path) => void (await this.visit({ kind: 'file', path })),
      enters: this.#enters,
      report: this.#report,
    });
  }

  /** Adds the sessions in a file or a folder; false when no source knows it. */
  async visit(item: FileOrFolder): Promise<boolean> {
    for (const [architecture, find] of this.#finders) {
      const sessions = await find(item).catch((error: unknown) => {
        // Any other error: the file belongs to another program, under a name like the agent's.
        if (isUnreadable(error)) this.#report({ code: 'unreadable', path: item.path, message: messageOf(error) });
        return undefined;
      });
      if (sessions === undefined) continue;
      for (const session of sessions) this.found.push({ architecture, ...session });
      return true;
    }
    return false;
  }
}
