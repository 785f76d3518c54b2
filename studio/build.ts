/**
 * Builds Studio: into the package (`scripts/build.ts`), and on demand for a server or an export that runs from the sources of a clone. A build
 * on demand is kept below `node_modules/.cache` under the hash of everything that it is made from.
 */
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '..');
const CACHE = join(ROOT, 'node_modules/.cache/holdfast-studio');

type LogLevel = 'warn' | 'error';

/** Builds the page into a directory, which it replaces. */
export function buildStudio(directory: string, logLevel: LogLevel = 'warn'): Promise<void> {
  return vite('vite.config.ts', directory, logLevel, '--emptyOutDir');
}

/** Builds the renderer of exported files into a directory, as `document.js`. */
export function buildDocument(directory: string, logLevel: LogLevel = 'warn'): Promise<void> {
  return vite('document.config.ts', directory, logLevel);
}

/** In a process of its own: the environment of this one may be that of a test. */
async function vite(
  config: string,
  directory: string,
  logLevel: LogLevel,
  ...options: readonly string[]
): Promise<void> {
  const command = join(dirname(createRequire(import.meta.url).resolve('vite/package.json')), 'bin/vite.js');
  const folder = import.meta.dirname;
  const where = [folder, '--config', join(folder, config), '--outDir', directory];
  const args = [command, 'build', ...where, '--logLevel', logLevel, ...options];
  const { stderr } = await promisify(execFile)(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, NODE_ENV: 'production' },
  });
  if (stderr !== '') process.emitWarning(stderr);
}

/** The directory of the page, built from the current sources; makes it if there is none. */
export function studioOfSources(): Promise<string> {
  return kept('page', buildStudio);
}

/** The file of the renderer, built from the current sources; makes it if there is none. */
export async function documentOfSources(): Promise<string> {
  return join(await kept('document', buildDocument), 'document.js');
}

async function kept(name: string, make: typeof buildStudio): Promise<string> {
  const directory = join(CACHE, `${name}-${hashOfSources()}`);
  if (existsSync(directory)) return directory;
  const fresh = `${directory}.${randomUUID()}`;
  await make(fresh, 'error'); // a person who starts Studio is not the one who reads its warnings
  try {
    renameSync(fresh, directory);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(directory)) throw error; // otherwise another process was faster
  }
  return directory;
}

/** A hash of the sources of the package and of the page, and of these files. */
export function hashOfSources(...others: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of ['package-lock.json', ...others, ...filesIn('studio'), ...filesIn('src')]) {
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
