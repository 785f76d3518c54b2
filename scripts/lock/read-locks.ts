import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LockedPackages } from './locked-packages.ts';

const NOT_OURS = new Set(['node_modules', 'fixtures', 'dist', 'coverage', 'screenshots']);

/** The entries of every lock file below `root`, by the file's path from `root` with `/` between the parts. */
export function readLocks(root: string): ReadonlyMap<string, LockedPackages> {
  const paths = locksIn(root, '').toSorted();
  return new Map(paths.map((path) => [path, JSON.parse(readFileSync(join(root, path), 'utf8')).packages]));
}

function locksIn(root: string, folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) || entry.name.startsWith('.') ? [] : locksIn(root, path);
    return entry.name === 'package-lock.json' ? [path] : [];
  });
}
