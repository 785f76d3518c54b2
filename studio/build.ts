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
import { build } from 'vite';
import config from './vite.config.ts';

const ROOT = join(import.meta.dirname, '..');
const CACHE = join(ROOT, 'node_modules/.cache/holdfast-studio');

/** Builds the page into a directory, which it replaces. In a process of its own: the environment of this one may be that of a test. */
export async function buildStudio(directory: string, logLevel: 'warn' | 'error' = 'warn'): Promise<void> {
  const vite = join(dirname(createRequire(import.meta.url).resolve('vite/package.json')), 'bin/vite.js');
  const args = [vite, 'build', import.meta.dirname, '--outDir', directory, '--emptyOutDir', '--logLevel', logLevel];
  const { stderr } = await promisify(execFile)(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, NODE_ENV: 'production' },
  });
  if (stderr !== '') process.emitWarning(stderr);
}

/** Builds the renderer of exported files as `document.js`: one module for Node, with React and the style sheet inside. */
export async function buildDocument(directory: string): Promise<void> {
  await build({
    ...config,
    configFile: false,
    publicDir: false,
    define: { 'process.env.NODE_ENV': '"production"' },
    ssr: { noExternal: true },
    build: {
      ...config.build,
      ssr: join(import.meta.dirname, 'src/document/render-document.tsx'),
      outDir: directory,
      emptyOutDir: false,
      manifest: false,
      minify: true,
      cssMinify: true,
      rolldownOptions: {
        ...config.build?.rolldownOptions,
        output: { entryFileNames: 'document.js', codeSplitting: false },
      },
    },
  });
}

/** The directory of the page, built from the current sources; makes it if there is none. */
export function studioOfSources(): Promise<string> {
  return kept('page', (directory) => buildStudio(directory, 'error')); // a person who starts Studio is not the one who reads its warnings
}

/** The file of the renderer, built from the current sources; makes it if there is none. */
export async function documentOfSources(): Promise<string> {
  return join(await kept('document', buildDocument), 'document.js');
}

async function kept(name: string, make: (directory: string) => Promise<void>): Promise<string> {
  const directory = join(CACHE, `${name}-${hashOfSources()}`);
  if (existsSync(directory)) return directory;
  const fresh = `${directory}.${randomUUID()}`;
  await make(fresh);
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
