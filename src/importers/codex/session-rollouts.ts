/** Finds the rollouts that belong to a session: the past of a fork, and the threads of its subagents. */
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { relatedTo } from '../../transcripts/codex/rollouts/session-plan.ts';
import { asName, asObject, parseJson } from '../../transcripts/json-access.ts';
import { readFileBelow } from '../safe-files.ts';
import { homeOf, lastTime, listRollouts, type ReadRollout, type RolloutFile, readRollout } from './rollout-files.ts';

const MAX_INDEX = 16 * 1024 * 1024;
const DAY = 24 * 60 * 60 * 1000;

/** The rollouts in one place, by their names. */
interface RolloutList {
  /** Sorted by their start. */
  readonly files: readonly RolloutFile[];
  readonly byId: ReadonlyMap<string, RolloutFile>;
  /** The newest rollout of each thread. */
  readonly newest: ReadonlyMap<string, string>;
}

/**
 * Remembers what a search read: the names below each home or folder, and the first line of each file.
 *
 * Contract: each folder is listed once, and each file is opened once for its first line.
 */
export class RolloutCatalog {
  readonly #lists = new Map<string, Promise<RolloutList>>();
  readonly #heads = new Map<string, Promise<ReadRollout | undefined>>();
  readonly #names = new Map<string, Promise<ReadonlyMap<string, string>>>();
  readonly #families = new Map<string, Promise<ReadonlyMap<string, readonly string[]>>>();
  #counted = 0;

  read(path: string): Promise<ReadRollout | undefined> {
    return remember(this.#heads, path, () => readRollout(path));
  }

  /** The rollouts among which those of a session are. */
  list(path: string): Promise<RolloutList> {
    return remember(this.#lists, homeOf(path) ?? dirname(path), async () => listOf(await listRollouts(path)));
  }

  /** How many subagents a session has, at any depth. */
  async countSubagents(rollout: ReadRollout): Promise<number> {
    // A search that finds one session opens the files of its days; one that finds many opens all files, once.
    const isFirst = this.#counted++ === 0;
    const others = isFirst ? await sessionRollouts(rollout, this) : [];
    const children = isFirst ? childrenIn(others) : await this.#children(rollout.path);
    const found = new Set([rollout.threadId]);
    for (const thread of found) for (const child of children.get(thread) ?? []) found.add(child);
    return found.size - 1;
  }

  #children(path: string): Promise<ReadonlyMap<string, readonly string[]>> {
    return remember(this.#families, homeOf(path) ?? dirname(path), async () => {
      const rollouts: ReadRollout[] = [];
      for (const file of (await this.list(path)).files) {
        const rollout = await this.read(file.path);
        if (rollout) rollouts.push(rollout);
      }
      return childrenIn(rollouts);
    });
  }

  /** The names that people gave to threads, by thread. */
  async names(path: string): Promise<ReadonlyMap<string, string>> {
    const home = homeOf(path);
    return home === undefined ? new Map() : await remember(this.#names, home, () => readNames(home));
  }
}

function remember<T>(known: Map<string, Promise<T>>, key: string, read: () => Promise<T>): Promise<T> {
  const value = known.get(key) ?? read();
  known.set(key, value);
  return value;
}

/** The threads that each thread started. */
function childrenIn(rollouts: readonly ReadRollout[]): ReadonlyMap<string, readonly string[]> {
  const metas = rollouts.flatMap(({ meta }) => (meta?.parentThreadId === undefined ? [] : [meta]));
  const byParent = Map.groupBy(metas, ({ parentThreadId = '' }) => parentThreadId);
  return new Map([...byParent].map(([parent, children]) => [parent, children.map(({ threadId }) => threadId)]));
}

function listOf(found: readonly RolloutFile[]): RolloutList {
  const newest = new Map<string, string>();
  for (const { threadId, rolloutId } of found) {
    if ((newest.get(threadId) ?? '') < rolloutId) newest.set(threadId, rolloutId);
  }
  return {
    files: found.toSorted((a, b) => (a.start < b.start ? -1 : 1)),
    byId: new Map(found.map((file) => [file.rolloutId, file])),
    newest,
  };
}

async function readNames(home: string): Promise<ReadonlyMap<string, string>> {
  const text = (await readFileBelow(home, join(home, 'session_index.jsonl'), MAX_INDEX)) ?? '';
  const names = new Map<string, string>();
  for (const line of text.split('\n')) {
    const entry = asObject(parseJson(line));
    const id = asName(entry?.id);
    const name = asName(entry?.thread_name);
    if (id !== undefined && name !== undefined) names.set(id, name);
  }
  return names;
}

/** The other rollouts of a session whose main one is `main`. Only files that can belong to it are opened. */
export async function sessionRollouts(main: ReadRollout, catalog: RolloutCatalog): Promise<readonly ReadRollout[]> {
  const { files, byId } = await catalog.list(main.path);
  const read = new Map<string, ReadRollout>();
  const chain = [main];
  for (let base = main.meta?.base; base !== undefined; ) {
    const file = byId.get(base.rolloutId);
    const isNew = file !== undefined && file.path !== main.path && !read.has(file.path);
    const rollout = isNew ? await catalog.read(file.path) : undefined;
    if (rollout) chain.push(rollout);
    if (rollout) read.set(rollout.path, rollout);
    base = rollout?.meta?.base;
  }
  // A subagent starts after the thread that started it, and before that thread's last line. Names have the local time, lines do not.
  const starts = chain.map(({ start }) => start).sort();
  const ends = await Promise.all(chain.map(({ path, start }) => endOf(path).catch(() => start)));
  const first = dayAfter(starts[0] ?? '', -1);
  const last = dayAfter([...ends, ...starts].sort().at(-1) ?? '', 1);
  for (let i = firstFrom(files, first); i < files.length; i++) {
    const file = files[i] as RolloutFile;
    if (last !== '' && file.start.slice(0, 10) > last) break;
    const rollout = file.path === main.path ? undefined : await catalog.read(file.path);
    if (rollout) read.set(file.path, rollout);
  }
  return relatedTo(main, [...read.values()]);
}

/** The time of a rollout's last line, or of its file. */
async function endOf(path: string): Promise<string> {
  return (await lastTime(path)) ?? (await stat(path)).mtime.toISOString();
}

/** The position of the first file that starts on a day or later. */
function firstFrom(files: readonly RolloutFile[], day: string): number {
  let low = 0;
  let high = files.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((files[middle]?.start ?? '') < day) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The day of a time, some days later; empty when it names none. */
function dayAfter(time: string, days: number): string {
  const day = Date.parse(`${time.slice(0, 10)}T00:00:00Z`);
  return Number.isNaN(day) ? '' : new Date(day + days * DAY).toISOString().slice(0, 10);
}
