import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const NOT_OURS = new Set(['node_modules', 'fixtures']);

/** The text of every TypeScript and JavaScript file below these folders, by its path from `root` with `/` between the parts. */
export function readSources(root: string, folders: readonly string[]): ReadonlyMap<string, string> {
  return new Map(folders.flatMap((folder) => sourcesIn(root, folder)));
}

function sourcesIn(root: string, folder: string): readonly (readonly [path: string, source: string])[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : sourcesIn(root, path);
    return /\.[cm]?[jt]sx?$/.test(entry.name) ? [[path, readFileSync(join(root, path), 'utf8')] as const] : [];
  });
}
