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
