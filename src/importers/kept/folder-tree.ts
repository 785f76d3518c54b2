/**
 * Watches a folder and the folders below it. On Linux each folder has a watcher of its own: Node's recursive watcher raises an uncaught
 * error there when a folder becomes a file.
 */
import { type FSWatcher, lstatSync, readdirSync, type WatchEventType, watch } from 'node:fs';
import { join } from 'node:path';
import { NOT_SEARCHED } from '../walk-folder.ts';

/** Imports look no deeper than this, with the folders that belong to a session. */
const MAX_DEPTH = 12;
const IS_RECURSIVE = process.platform === 'darwin' || process.platform === 'win32';

/** Receives changes. */
export interface TreeListener {
  /** A file or a folder changed. */
  changed(path: string): void;
  /** Some folder cannot be watched: changes in it have to be looked for. */
  failed(): void;
}

/** A folder that is watched. */
interface WatchedFolder {
  readonly path: string;
  readonly depth: number;
  readonly folders: Map<string, WatchedFolder>;
  watcher: FSWatcher | undefined;
}

export class FolderTree {
  readonly #listener: TreeListener;
  readonly #root: WatchedFolder | undefined;

  constructor(root: string, listener: TreeListener) {
    this.#listener = listener;
    this.#root = this.#add(root, MAX_DEPTH);
  }

  close(): void {
    if (this.#root) closeAll(this.#root);
  }

  /** Watches a folder and those below it. The folder is listed after its watcher has started, so that no folder is missed. */
  #add(path: string, depth: number): WatchedFolder | undefined {
    if (!isFolder(path)) return undefined;
    const folder: WatchedFolder = { path, depth, folders: new Map(), watcher: undefined };
    try {
      folder.watcher = watchFolder(path, IS_RECURSIVE, {
        changed: (type, name) => this.#changed(folder, type, name),
        failed: () => this.#listener.failed(),
      });
      if (!IS_RECURSIVE) for (const name of foldersIn(path)) this.#addBelow(folder, name);
    } catch {
      if (isFolder(path)) this.#listener.failed(); // no permission, or too many watchers; a folder that is gone needs none
    }
    return folder;
  }

  #addBelow(folder: WatchedFolder, name: string): void {
    if (folder.depth === 0 || NOT_SEARCHED.includes(name)) return;
    const below = this.#add(join(folder.path, name), folder.depth - 1);
    if (below) folder.folders.set(name, below);
  }

  #changed(folder: WatchedFolder, type: WatchEventType, name: string | null): void {
    if (name === null) {
      this.#listener.changed(folder.path);
      return;
    }
    if (type === 'rename' && !IS_RECURSIVE) {
      // Something of this name appeared or disappeared. A folder may already be another one than the watched one.
      const before = folder.folders.get(name);
      if (before) closeAll(before);
      folder.folders.delete(name);
      this.#addBelow(folder, name);
    }
    this.#listener.changed(join(folder.path, name));
  }
}

/** Watches one folder. An error closes the watcher and is never thrown. */
export function watchFolder(
  path: string,
  recursive: boolean,
  listener: { changed(type: WatchEventType, name: string | null): void; failed(): void },
): FSWatcher {
  const watcher = watch(path, { recursive }, (type, name) => listener.changed(type, name));
  watcher.on('error', () => {
    watcher.close();
    listener.failed();
  });
  return watcher;
}

function closeAll(folder: WatchedFolder): void {
  folder.watcher?.close();
  for (const below of folder.folders.values()) closeAll(below);
}

/** Whether a path is a folder, and not a symbolic link to one. */
export function isFolder(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false; // a folder on the way has become a file, or may not be read
  }
}

function foldersIn(path: string): readonly string[] {
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
}
