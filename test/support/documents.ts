import { spawnSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The TypeScript examples of a Markdown page, in order. */
export function examplesIn(page: string): readonly string[] {
  return Array.from(page.matchAll(/^```ts\n(.*?)^```$/gms), ([, example = '']) => example);
}

const SOURCES = pathToFileURL(join(import.meta.dirname, '../../src/')).href;

/** A program that imports the sources where it says `holdfast`, from any directory: it runs as written, and needs no build. */
export function withSources(program: string): string {
  return program
    .replace(/from 'holdfast(?:\/([a-z-]+))?'/g, (_, entry = 'index') => `from '${SOURCES}${entry}.ts'`)
    .replace(/from '(zod)'/g, (_, name: string) => `from '${import.meta.resolve(name)}'`);
}

const ROOT = join(import.meta.dirname, '../..');

/** Compiles programs as a strict user would, and returns what the compiler says: nothing, when all is well. */
export function compilerProblems(directory: string, programs: readonly string[]): string {
  const options = {
    strict: true,
    noEmit: true,
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable', 'esnext.promise'],
    module: 'nodenext',
    moduleDetection: 'force',
    allowImportingTsExtensions: true,
    types: ['node'],
    skipLibCheck: true,
    paths: {
      holdfast: [join(ROOT, 'src/index.ts')],
      'holdfast/*': [join(ROOT, 'src/*.ts')],
    },
  };
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'), 'dir');
  const files = programs.map((program, i) => {
    const file = join(directory, `program-${i}.mts`);
    writeFileSync(file, program);
    return file;
  });
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }));
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [compiler, '-p', directory], { encoding: 'utf8' });
  return stdout;
}
