/**
 * Builds Studio: into the package (`scripts/build.ts`), and on demand for a server that runs from the sources of a clone. A build on demand is
 * kept below `node_modules/.cache` under the hash of everything that it is made from.
 */
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '..');
const CACHE = join(ROOT, 'node_modules/.cache/holdfast-studio');

/** Builds Studio into a directory, which it replaces. In a process of its own: the environment of this one may be that of a test. */
export async function buildStudio(directory: string, logLevel: 'warn' | 'error' = 'warn'): Promise<void> {
  const vite = join(dirname(createRequire(import.meta.url).resolve('vite/package.json')), 'bin/vite.js');
  const args = [vite, 'build', import.meta.dirname, '--outDir', directory, '--emptyOutDir', '--logLevel', logLevel];
  const { stderr } = await promisify(execFile)(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, NODE_ENV: 'production' },
  });
  if (stderr !== '') process.emitWarning(stderr);
}

/** The directory of a build of the current sources; makes it if there is none. */
export async function studioOfSources(): Promise<string> {
  const directory = join(CACHE, hashOfSources());
  if (existsSync(directory)) return directory;
  const fresh = `${directory}.${randomUUID()}`;
  await buildStudio(fresh, 'error'); // a person who starts Studio is not the one who reads its warnings
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
