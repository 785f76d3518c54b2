/**
 * Builds Studio: into the package (`scripts/build.ts`), and on demand for a server that runs from the sources of a clone. A build on demand is
 * kept below `node_modules/.cache` under the hash of everything that it is made from.
 */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'vite';
import config from './vite.config.ts';

const ROOT = join(import.meta.dirname, '..');
const CACHE = join(ROOT, 'node_modules/.cache/holdfast-studio');

/** Builds Studio into a directory, which it replaces. */
export async function buildStudio(directory: string): Promise<void> {
  await build({ ...config, configFile: false, build: { ...config.build, outDir: directory } });
}

/** The directory of a build of the current sources; makes it if there is none. */
export async function studioOfSources(): Promise<string> {
  const directory = join(CACHE, hashOfSources());
  if (existsSync(directory)) return directory;
  const fresh = `${directory}.${randomUUID()}`;
  await buildStudio(fresh);
  try {
    renameSync(fresh, directory);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(directory)) throw error; // otherwise another process was faster
  }
  return directory;
}

function hashOfSources(): string {
  const hash = createHash('sha256');
  for (const file of ['package-lock.json', ...filesIn('studio'), ...filesIn('src')]) {
    hash.update(file).update(readFileSync(join(ROOT, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
    .sort();
}
