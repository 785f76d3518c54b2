/** Imports the sessions of other agents into a store, and follows them (D75). */
import { dirname } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { Store } from '../../ports/store.ts';
import { resolveMissing, resolvePath } from '../safe-files.ts';
import { defaultRoots, TRANSCRIPT_SOURCES, type TranscriptSources } from '../transcript-sources.ts';
import { ImportAborted, ImportContext, type ImportProgress, type ImportResult } from './import-context.ts';
import { ImportPass, type KnownSessions, knownSessions } from './import-pass.ts';
import { type RootChange, RootWatcher } from './watch-roots.ts';

const DEFAULT_MAX_FILE_BYTES = 4 * 1024 ** 3;

/** Options of `importTranscripts`. */
export interface ImportOptions {
  /** Files and folders of agents. Default: the agents' usual folders below the home directory, as far as they exist. */
  readonly paths?: readonly string[];
  /** Keeps following the files, and resolves when the signal aborts. */
  readonly watch?: boolean;
  /** Changes the text of each record before it is recorded. An import with redacted records cannot be restored. */
  readonly redact?: (record: string) => string;
  /** Files with more bytes are reported and skipped; 4 GiB by default. */
  readonly maxFileBytes?: number;
  /** Called after each transaction and for each problem. */
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Ends the import; the next one continues where it ended. */
  readonly signal?: AbortSignal;
}

const KNOWN: KnownOptions<ImportOptions> = {
  paths: true,
  watch: true,
  redact: true,
  maxFileBytes: true,
  onProgress: true,
  signal: true,
};

/**
 * Imports the sessions of Claude Code, OpenCode and the other agents that can be read. Each becomes a session of the store whose log holds
 * the agent's own records. Importing again appends what is new. The agents' files are only read.
 */
export function importTranscripts(store: Store, options: ImportOptions = {}): Promise<ImportResult> {
  return importWith(TRANSCRIPT_SOURCES, store, options);
}

/** Imports the sessions of the given sources. */
export async function importWith(
  sources: TranscriptSources<string>,
  store: Store,
  options: ImportOptions = {},
): Promise<ImportResult> {
  refuseUnknownOptions('importTranscripts', options, KNOWN);
  const { paths, watch = false, signal, maxFileBytes = DEFAULT_MAX_FILE_BYTES, redact, onProgress } = options;
  if (watch && !signal) {
    throw new HoldfastError('INVALID_ARGUMENT', 'watch needs a signal, which ends it: { watch: true, signal }');
  }
  checkPaths(paths);
  const roots = await Promise.all(paths?.map(resolvePath) ?? defaultRoots(sources).map(resolveMissing));
  const context = new ImportContext({ store, redact, maxFileBytes, onProgress, signal });
  const watcher = watch ? new RootWatcher(roots) : undefined; // before the first pass: no change is missed
  try {
    const known = await knownSessions(store);
    const pass = new ImportPass(context, sources, known);
    for (const root of roots) await pass.import(root);
    if (watcher && signal) {
      for await (const changes of watcher.changes(signal)) await follow(context, sources, changes);
    }
  } catch (error) {
    if (!(error instanceof ImportAborted)) throw error;
  } finally {
    watcher?.close();
  }
  return context.result();
}

/** Refuses paths that are not a list of texts, as callers without types may pass. */
function checkPaths(paths: unknown): void {
  const isPath = (path: unknown): boolean => typeof path === 'string' && path !== '';
  if (paths === undefined || (Array.isArray(paths) && paths.every(isPath))) return;
  const why = 'paths is a list of files and folders, each a text that is not empty';
  const advice = "pass { paths: ['/folder'] }, or no paths for the usual folders";
  throw new HoldfastError('INVALID_ARGUMENT', `${why}; ${advice}`);
}

/** Imports the sessions that changes may belong to. */
async function follow(
  context: ImportContext,
  sources: TranscriptSources<string>,
  changes: readonly RootChange[],
): Promise<void> {
  const known = await knownSessions(context.options.store);
  const pass = new ImportPass(context, sources, known);
  for (const { root, paths } of changes) {
    const mains = [...paths].map((path) => mainFileOf(path, root, known));
    // A file that no known session has may be of any session.
    const targets = mains.includes(undefined) ? [root] : new Set(mains);
    for (const target of targets) if (target !== undefined) await pass.import(target);
  }
}

/** The main file of the known session that a file belongs to: the file itself, or the one that has the name of a folder above it. */
function mainFileOf(path: string, root: string, known: KnownSessions): string | undefined {
  if (known.has(path)) return path;
  for (let folder = dirname(path); folder.length > root.length; folder = dirname(folder)) {
    if (known.has(`${folder}.jsonl`)) return `${folder}.jsonl`;
  }
  return undefined;
}
