/**
 * The examples in the Markdown pages, as tests use them.
 *
 * - A **program** is a fence of TypeScript whose first line names its file: `// first-agent.mts`. It compiles with nothing added, and
 *   a test runs it: from the commands of a `text` fence on the same page, or from a test of its own.
 * - A **fragment** is any other fence of TypeScript. It compiles with the names of `FRAGMENT_GLOBALS`, with the values that Holdfast
 *   exports, and with the context that an HTML comment right above it declares: `<!-- context: declare const user: string; -->`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A fence of a page. */
export interface Fence {
  /** The page, as a path from the root of the repository. */
  readonly page: string;
  /** The line of the page that the code begins in. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** Declarations that the reader does not see and the compiler needs. */
  readonly context: string;
  /** The name of the file, if this is a program. */
  readonly file?: string;
}

export const ROOT: string = join(import.meta.dirname, '../..');

/** The pages that a user reads: README.md, SPEC.md, ARCHITECTURE.md, CONTRIBUTING.md and everything in docs. */
export function pages(): readonly string[] {
  const documents = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
  return [
    'README.md',
    'SPEC.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    ...documents.sort().map((name) => `docs/${name}`),
  ];
}

export function readPage(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

const FENCE = /(?:<!-- context:(?<context>(?:(?!-->)[\s\S])*)-->\n+)?^```(?<language>[a-z]*)\n(?<code>[\s\S]*?)^```$/gm;

/** The fences of a page, in order. */
export function fencesIn(page: string, text: string = readPage(page)): readonly Fence[] {
  return Array.from(text.matchAll(FENCE), ({ index, 0: whole, groups = {} }) => {
    const { context = '', language = '', code = '' } = groups;
    const line = text.slice(0, index + whole.indexOf('```')).split('\n').length + 1;
    const file = /^\/\/ ([\w.-]+\.(?:mts|tsx?))$/m.exec(code.split('\n', 1)[0] ?? '')?.[1];
    return { page, line, language, code, context: context.trim(), ...(file !== undefined && { file }) };
  });
}

/** The fences of TypeScript of every page. */
export function examples(): readonly Fence[] {
  return pages()
    .flatMap((page) => fencesIn(page))
    .filter(({ language }) => language === 'ts' || language === 'tsx');
}

const CONTEXT = /^<!-- context:(.*)-->$/;

/** The examples in the third column of a page's tables, each as a fragment with the context right above its table. */
export function examplesInTables(page: string): readonly Fence[] {
  let context = '';
  return readPage(page)
    .split('\n')
    .flatMap((text, i) => {
      if (!text.startsWith('|')) context = CONTEXT.exec(text)?.[1]?.trim() ?? '';
      const code = /^\| .+ \| .+ \| `([^`]+)` \|$/.exec(text)?.[1];
      return code === undefined ? [] : [{ page, line: i + 1, language: 'ts', code, context }];
    });
}

/** The program of this name on a page. */
export function programIn(page: string, file: string): string {
  const program = fencesIn(page).find((fence) => fence.file === file);
  if (!program) throw new Error(`${page} has no program ${file}`);
  return program.code;
}

const SOURCES = pathToFileURL(join(ROOT, 'src/')).href;

/** A program that imports the sources where it says `holdfast`, from any directory: it runs as written, and needs no build. */
export function withSources(program: string): string {
  return program
    .replace(/from 'holdfast(?:\/([a-z-]+))?'/g, (_, entry = 'index') => `from '${SOURCES}${entry}.ts'`)
    .replace(/from '(?!node:|file:)(@?[a-z][^']*)'/g, (_, name: string) => `from '${import.meta.resolve(name)}'`);
}

/** Where a fence is, as compilers and people write it. */
export function placeOf({ page, line }: Fence): string {
  return `${relative(ROOT, join(ROOT, page))}:${line}`;
}
