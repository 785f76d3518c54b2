import { execFileSync } from 'node:child_process';
import { cpSync, lstatSync, mkdirSync, readdirSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Copies a checkout into an empty directory, with its uncommitted changes and without what git ignores. The packages are links, each
 * for itself: what vitest caches in `node_modules` stays in the copy.
 */
export function copyTree(tree: string, copy: string): void {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: tree,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  for (const path of new Set(listed.split('\0'))) {
    const from = join(tree, path);
    if (path === '' || !lstatSync(from, { throwIfNoEntry: false })) continue; // deleted, and not committed yet
    mkdirSync(join(copy, dirname(path)), { recursive: true });
    cpSync(from, join(copy, path), { verbatimSymlinks: true });
  }
  const packages = realpathSync(join(tree, 'node_modules'));
  mkdirSync(join(copy, 'node_modules'));
  for (const name of readdirSync(packages)) {
    if (!isCache(name)) symlinkSync(join(packages, name), join(copy, 'node_modules', name));
  }
}

function isCache(name: string): boolean {
  return name.startsWith('.') && name !== '.bin';
}
