/**
 * One pass over roots: finds the sessions of every source and imports what is new of each.
 *
 *     walk ─▶ a file that a known session was imported from ─▶ compare its stamps, import what is new
 *          └▶ anything else ─▶ the sources' searches ─▶ a session ─▶ import it
 */

import { createHash } from 'node:crypto';
import { lstatSync, type Stats } from 'node:fs';
import { basename } from 'node:path';
import { present } from '../../conversation/same-value.ts';
import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import type { SourceDescribedFields } from '../../core/log/source-events.ts';
import { type SourceSummary, sourceFile } from '../../core/summary/source-summary.ts';
import type { Store } from '../../ports/store.ts';
import type {
  FileOrFolder,
  FindSessions,
  FoundRows,
  FoundSession,
  ListFiles,
  ReportProblem,
  RowsReader,
  SessionFile,
  SessionRows,
  TranscriptSource,
} from '../transcript-source.ts';
import { entriesOf, type TranscriptSources } from '../transcript-sources.ts';
import { SEARCH_DEPTH, searchedFolders, walkFolder } from '../walk-folder.ts';
import { ImportAborted, type ImportContext } from './import-context.ts';
import { importFiles, type LocateLog, stampOf } from './import-files.ts';
import { importRows } from './import-rows.ts';
import { type KeptLog, readKeptLog } from './kept-log.ts';
import { IdClaims, type PoolLimits, TaskPool, type Turn } from './task-pool.ts';

const LIST_PAGE = 500;
const MAX_ID_LENGTH = 400;
/** Control characters and lone surrogates, which no id of a session may have. */
const UNSAFE = /[\p{Cc}\p{Cs}]/gu;
/** What an import holds of a session at once, at most; a smaller session weighs as much as its main file. */
const HEAVIEST = 1024 * 1024;
/** Small sessions share commits, and of large ones only a few are in memory. */
const AT_ONCE: PoolLimits = { tasks: 64, weight: 16 * HEAVIEST };

/** A session that was imported before. */
interface KnownSession {
  readonly id: string;
  readonly source: SourceSummary;
}

interface SearchedSource {
  readonly architecture: string;
  readonly source: TranscriptSource;
  readonly find: FindSessions;
  readonly files: ListFiles;
}

/** The sessions that were imported before, by their place: the path of the main file, or path and id for rows. */
export type KnownSessions = ReadonlyMap<string, KnownSession>;

/** Lists the sessions that were imported before. */
export async function knownSessions(store: Store): Promise<KnownSessions> {
  const known = new Map<string, KnownSession>();
  let cursor: string | undefined;
  do {
    const page = await store.listSessions({ limit: LIST_PAGE, ...(cursor !== undefined && { cursor }) });
    for (const { id, source } of page.sessions) {
      if (source) known.set(source.layout === 'files' ? source.path : rowsPlace(source), { id, source });
    }
    cursor = page.next;
  } while (cursor !== undefined);
  return known;
}

function rowsPlace({ path, sessionId }: Pick<SourceSummary, 'path' | 'sessionId'>): string {
  return `${path}\0${sessionId}`;
}

export class ImportPass {
  readonly #context: ImportContext;
  readonly #sources: readonly SearchedSource[];
  readonly #enters: (name: string) => boolean;
  readonly #known: KnownSessions;
  readonly #report: ReportProblem;
  readonly #pool = new TaskPool(AT_ONCE);
  readonly #claims = new IdClaims();

  /** A pass remembers what its searches read. `known` may be older than the store: that costs reading, and changes nothing else. */
  constructor(context: ImportContext, sources: TranscriptSources<string>, known: KnownSessions) {
    this.#context = context;
    this.#known = known;
    const entries = entriesOf(sources);
    const report: ReportProblem = ({ code, path, message }) =>
      context.problem(code === 'too-large' ? code : 'unreadable', path, message);
    this.#report = report;
    this.#sources = entries.map(([architecture, source]) => ({
      architecture,
      source,
      find: source.startSearch(report),
      files: source.startListing?.(report) ?? (async ({ path }) => [{ name: basename(path), path, role: 'main' }]),
    }));
    this.#enters = searchedFolders(entries.map(([, source]) => source));
  }

  /** Imports the sessions in and below a path without symbolic links. */
  async import(path: string): Promise<void> {
    try {
      const found = lstatSync(path);
      if (found.isDirectory()) await this.#walk(path);
      else if (found.isFile()) await this.#visitFile(path, true);
      else this.#context.problem('not-a-source', path, `${path} is neither a file nor a folder`);
    } catch (error) {
      await this.#pool.settle();
      this.#failed(path, error);
    }
    await this.#pool.drain();
  }

  async #walk(folder: string): Promise<void> {
    const why = 'symbolic links are not followed; name their target in paths';
    await walkFolder(folder, SEARCH_DEPTH, {
      folder: (item) => this.#visitFolder(item),
      file: (path) => this.#visitFile(path),
      link: (path) => this.#context.problem('symbolic-link', path, why),
      enters: this.#enters,
      report: this.#report,
    });
  }

  /** Imports the sessions that a folder is; false when it has to be walked. */
  async #visitFolder(item: FileOrFolder): Promise<boolean> {
    this.#context.check();
    if (await this.#visitRows(item)) return true;
    const turn = this.#claims.enter();
    try {
      return await this.#search(item, turn);
    } finally {
      turn.leave();
    }
  }

  /** Imports the sessions in a file. If there are none in a file that the caller has named, that is a problem. */
  async #visitFile(path: string, isNamed = false): Promise<void> {
    if (await this.#visitRows({ kind: 'file', path })) return;
    const stat = statOf(path);
    await this.#inTurn(Math.min(stat?.size ?? 0, HEAVIEST), async (turn) => {
      const known = this.#known.get(path);
      const searched = known && this.#sources.find(({ architecture }) => architecture === known.source.architecture);
      if (known && searched && stat) {
        turn.leave(); // it has its id
        await this.#attempt(path, () => this.#importKnown(known, searched, stat));
      } else await this.#attempt(path, () => this.#searchFile(path, isNamed, turn));
    });
  }

  /** Runs a task beside others; `turn` is its place in the order of the walk. */
  async #inTurn(weight: number, task: (turn: Turn) => Promise<void>): Promise<void> {
    const turn = this.#claims.enter();
    try {
      await this.#pool.start(weight, () => task(turn).finally(turn.leave));
    } catch (error) {
      turn.leave();
      throw error;
    }
  }

  async #searchFile(path: string, isNamed: boolean, turn: Turn): Promise<void> {
    const isFound = await this.#search({ kind: 'file', path }, turn);
    if (isFound || !isNamed || this.#context.hasProblem(path)) return;
    const why =
      'no session of a known agent was found in it; name a main file of a session, or the folder that holds it';
    this.#context.problem('not-a-source', path, why);
  }

  /** Imports what is new of a session that was imported before, given the state of its main file. */
  async #importKnown(known: KnownSession, searched: SearchedSource, main: Stats): Promise<void> {
    const { path, sessionId } = known.source;
    this.#context.opened(path);
    const files = await searched.files({ path });
    const isUnchanged = (file: SessionFile): boolean => {
      const stat = file.path === path ? main : statOf(file.path);
      return stat !== undefined && sourceFile(known.source, file.name)?.stamp === stampOf(stat);
    };
    if (files.every(isUnchanged)) {
      this.#context.ended('unchanged');
      return;
    }
    const [found] = (await searched.find({ kind: 'file', path })) ?? [];
    const locate = (): Promise<KeptLog> => readKeptLog(this.#context.options.store, known.id);
    await this.#importFiles(searched, locate, { ...(found ?? { path, subagents: 0 }), sessionId }, files);
  }

  /** Imports the sessions that a source finds in a file or a folder; false when none does. */
  async #search(item: FileOrFolder, turn: Turn): Promise<boolean> {
    for (const searched of this.#sources) {
      const found = await searched.find(item);
      if (found === undefined) continue;
      this.#context.opened(item.path);
      await turn.claim(found.map(({ sessionId }) => plainId(searched.architecture, sessionId)));
      for (const session of found) {
        await this.#attempt(item.path, async () => {
          const locate = (): Promise<KeptLog> => this.#locate(searched.architecture, session);
          await this.#importFiles(searched, locate, session, await searched.files({ path: session.path }));
        });
      }
      return true;
    }
    return false;
  }

  /** Imports the sessions whose rows are in a file or a folder; false when it holds none. */
  async #visitRows(item: FileOrFolder): Promise<boolean> {
    for (const { architecture, source } of this.#sources) {
      let reader: RowsReader | undefined;
      try {
        reader = await source.openRows?.(item);
      } catch (error) {
        this.#context.problem('unreadable', item.path, error);
        return true;
      }
      if (!reader) continue;
      this.#context.opened(item.path);
      await this.#attempt(item.path, () => this.#importAll(architecture, reader));
      return true;
    }
    return false;
  }

  async #importAll(architecture: string, reader: RowsReader): Promise<void> {
    try {
      for (const rows of reader.list()) {
        const { path } = rows.found;
        await this.#inTurn(HEAVIEST, (turn) =>
          this.#attempt(path, () => this.#importRows(architecture, rows, reader, turn)),
        );
      }
    } finally {
      await this.#pool.settle(); // the tasks read from the reader
      await reader.close();
    }
  }

  async #importRows(architecture: string, rows: FoundRows, reader: RowsReader, turn: Turn): Promise<void> {
    const known = this.#known.get(rowsPlace(rows.found));
    if (known && rows.members.every((member) => isUnchangedMember(member, known.source))) {
      this.#context.ended('unchanged');
      return;
    }
    if (known) turn.leave();
    else await turn.claim([plainId(architecture, rows.found.sessionId)]);
    const locate = (): Promise<KeptLog> =>
      known ? readKeptLog(this.#context.options.store, known.id) : this.#locate(architecture, rows.found);
    const described = this.#describe(architecture, 'rows', rows.found);
    this.#context.ended(await importRows(this.#context, locate, rows, reader, described));
  }

  async #importFiles(
    searched: SearchedSource,
    locate: LocateLog,
    found: FoundSession,
    files: readonly SessionFile[],
  ): Promise<void> {
    const described = this.#describe(searched.architecture, 'files', found);
    const outcome = await importFiles(this.#context, locate, files, { described, updatedAt: found.updatedAt });
    this.#context.ended(outcome);
  }

  #describe(architecture: string, layout: SourceDescribedFields['layout'], found: FoundSession): SourceDescribedFields {
    const { sessionId, path, title, cwd, createdAt, messages } = found;
    const { redact } = this.#context.options;
    return {
      type: 'source/described',
      ...{ architecture, sessionId, path, layout },
      ...(title !== undefined && { title: redact ? redact(title) : title }),
      ...present({ cwd, createdAt, messages }),
    };
  }

  /**
   * The log that a session is imported into: its id names the agent and the agent's own id. If that belongs to another session, of ours or
   * of another file that is still there, the id also names the path. Another importer may take an id at any time, so every attempt looks again.
   */
  async #locate(architecture: string, { sessionId, path }: FoundSession): Promise<KeptLog> {
    const plain = plainId(architecture, sessionId);
    for (const id of [plain, `${plain}@${hash(path)}`]) {
      const log = await readKeptLog(this.#context.options.store, id);
      const { source, seq } = log;
      if (seq === 0 || (source?.sessionId === sessionId && isPlaceOf(source, path))) return log;
    }
    const why = `the store has a session ${plain} of its own; rename it to import this one`;
    throw new HoldfastError('SESSION_CONFLICT', why);
  }

  /** Does some work. A problem with it does not stop the import. */
  async #attempt(path: string, work: () => Promise<unknown>): Promise<void> {
    try {
      this.#context.check();
      await work();
    } catch (error) {
      this.#failed(path, error);
    }
  }

  /** Reports a problem with a file; rethrows what concerns the whole import. */
  #failed(path: string, error: unknown): void {
    if (error instanceof ImportAborted || isHoldfastError(error, 'SESSION_CLOSED')) throw error;
    if (isHoldfastError(error, 'SESSION_NOT_FOUND'))
      this.#context.ended('deleted'); // while it was imported
    else if (isHoldfastError(error, 'SESSION_CONFLICT')) this.#context.problem('id-taken', path, error);
    else if (isStoreFailure(error)) throw error;
    else this.#context.problem(isSystemError(error) ? 'unreadable' : 'failed', path, error);
  }
}

/** The id that names the agent and the agent's own id. */
function plainId(architecture: string, sessionId: string): string {
  const named = sessionId.length > MAX_ID_LENGTH ? hash(sessionId) : sessionId;
  const safe = named.replace(UNSAFE, '_');
  return `${architecture}:${safe === named ? named : `${safe}-${hash(sessionId)}`}`;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** The state of a file; `undefined` when it is not there or cannot be looked at, which reading it reports. */
function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Whether a source is the session at a path: it was imported from there, or the file has moved there. */
function isPlaceOf(source: SourceSummary, path: string): boolean {
  return source.path === path || lstatSync(source.path, { throwIfNoEntry: false }) === undefined;
}

function isUnchangedMember({ id, stamp }: SessionRows, source: SourceSummary): boolean {
  return stamp !== undefined && sourceFile(source, id)?.stamp === stamp;
}

/** The system refused: no permission, no such file, too many links. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && ('errno' in error || isSystemError(error.cause));
}

/** The store failed: no other session could be imported either. */
function isStoreFailure(error: unknown): boolean {
  return isHoldfastError(error) && error.code.startsWith('STORE_') && error.code !== 'STORE_CORRUPT';
}
