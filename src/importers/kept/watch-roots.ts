/** Follows files and folders: yields the paths that changed, several at once when they change together. */
import { existsSync, type FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import { FolderTree, isFolder, watchFolder } from './folder-tree.ts';

/** Changes that follow each other this closely are one. */
const SETTLE_MS = 30;
/** Where the system cannot report changes, they are looked for this often. */
const POLL_MS = 2000;

/** Changed paths of one root: the root itself when it is not known what changed. */
export interface RootChange {
  readonly root: string;
  readonly paths: ReadonlySet<string>;
}

export class RootWatcher {
  readonly #roots: readonly WatchedRoot[];
  readonly #changed = new Map<string, Set<string>>();
  #wake: () => void = () => {};

  /** Starts to watch: changes from now on are yielded by `changes`. */
  constructor(roots: readonly string[]) {
    this.#roots = roots.map((root) => new WatchedRoot(root, (path) => this.#note(root, path)));
  }

  /** Yields changes until the signal aborts. */
  async *changes(signal: AbortSignal): AsyncGenerator<readonly RootChange[]> {
    const stop = (): void => this.#wake();
    signal.addEventListener('abort', stop);
    try {
      while (!signal.aborted) {
        if (this.#changed.size === 0) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
          continue;
        }
        await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
        const changes = [...this.#changed].map(([root, paths]) => ({ root, paths }));
        this.#changed.clear();
        yield changes;
      }
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  close(): void {
    for (const root of this.#roots) root.close();
  }

  #note(root: string, path: string): void {
    const paths = this.#changed.get(root) ?? new Set();
    this.#changed.set(root, paths);
    paths.add(path);
    this.#wake();
  }
}

/**
 * Watches a root that may disappear, come back or appear later. The folders above it are watched for the name that leads to it:
 *
 *     root appears, disappears or is replaced ─▶ every watcher starts again ─▶ the whole root has changed
 */
class WatchedRoot {
  readonly #root: string;
  readonly #changed: (path: string) => void;
  #tree: FolderTree | undefined;
  #above: FSWatcher[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(root: string, changed: (path: string) => void) {
    this.#root = root;
    this.#changed = changed;
    this.#start();
  }

  close(): void {
    this.#stop();
    clearInterval(this.#timer);
  }

  #start(): void {
    const root = this.#root;
    const paths: string[] = [];
    for (let path = root; path !== dirname(path); path = dirname(path)) paths.unshift(path);
    // From the top: a folder that appears meanwhile is seen by the watcher above it.
    for (const path of paths) this.#watchAbove(dirname(path), basename(path));
    if (!isFolder(root)) return;
    this.#tree = new FolderTree(root, { changed: this.#changed, failed: () => this.#poll() });
  }

  #stop(): void {
    this.#tree?.close();
    this.#tree = undefined;
    for (const watcher of this.#above) watcher.close();
    this.#above = [];
  }

  /** Watches a folder above the root, if it exists, for the name that leads to the root. */
  #watchAbove(folder: string, name: string): void {
    const isParent = folder === dirname(this.#root);
    try {
      const watcher = watchFolder(folder, false, {
        changed: (type, changed) => {
          if (type === 'rename' && changed === name) this.#restart();
          // A database is written beside its file as well.
          else if (isParent && !this.#tree && changed?.startsWith(name) !== false) this.#changed(this.#root);
        },
        failed: () => this.#poll(),
      });
      this.#above.push(watcher);
    } catch {
      // The folder does not exist yet, or it cannot be watched.
      if (existsSync(folder) && !isFolder(this.#root)) this.#poll();
    }
  }

  #restart(): void {
    this.#stop();
    this.#start();
    this.#changed(this.#root);
  }

  /** Looks for changes from time to time. */
  #poll(): void {
    this.#timer ??= setInterval(() => this.#changed(this.#root), POLL_MS);
  }
}
