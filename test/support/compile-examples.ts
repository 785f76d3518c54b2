import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { publicEntries } from '../../scripts/docs/public-exports.ts';
import { type Fence, ROOT } from './documents.ts';

/** The names that every fragment may use without saying where they come from. */
const FRAGMENT_GLOBALS = `
declare const store: import('holdfast').SessionStore;
declare const session: import('holdfast').Session;
declare const agent: import('holdfast').Agent;
declare const adapter: import('holdfast/evaluate').ProviderAdapter;
declare const prompt: import('holdfast/evaluate').Prompt;
declare const messages: readonly import('holdfast').ConversationMessage[];
`;

/** What the examples use of an optional peer that only `npm run test:agents` installs. */
const CLAUDE_SDK = `
declare module '@anthropic-ai/claude-agent-sdk' {
  type Options = { permissionMode?: 'default' | 'acceptEdits'; sessionStore?: object; sessionStoreFlush?: 'batched' | 'eager' };
  function query(request: { prompt: string; options?: Options }): AsyncIterable<{ type: string }>;
}
`;

/** As a strict user compiles. */
const OPTIONS = {
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

/** Compiles the examples in a directory; returns what the compiler reports: nothing when all is well. */
export async function compilerProblems(directory: string, examples: readonly Fence[]): Promise<string> {
  const programs = examples.filter(({ file, language }) => file !== undefined && language === 'ts');
  const fragments = examples.filter(({ file, language }) => file === undefined && language === 'ts');
  const screens = examples.filter(({ language }) => language === 'tsx');
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'), 'dir');
  return [
    compile(join(directory, 'programs'), programs, OPTIONS),
    compile(join(directory, 'fragments'), fragments, OPTIONS, await globals()),
    compile(join(directory, 'screens'), screens, { ...OPTIONS, lib: [...OPTIONS.lib, 'dom'], jsx: 'react-jsx' }),
  ].join('');
}

function compile(directory: string, examples: readonly Fence[], options: object, declarations = ''): string {
  mkdirSync(directory);
  for (const example of examples) writeFileSync(join(directory, fileName(example)), moduleOf(example));
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ type: 'module' }));
  writeFileSync(join(directory, 'globals.d.ts'), declarations);
  const files = ['globals.d.ts', ...examples.map(fileName)];
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }));
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout, stderr } = spawnSync(process.execPath, [compiler, '-p', directory], { encoding: 'utf8' });
  return stdout + stderr;
}

function fileName({ page, line, language }: Fence): string {
  return `${page.replaceAll('/', '.')}.${line}.${language === 'tsx' ? 'tsx' : 'mts'}`;
}

/** What the code needs on the first line, and the code on the lines that it has in its page. */
function moduleOf({ code, context, line }: Fence): string {
  return `${context.replaceAll('\n', ' ')} export {};${'\n'.repeat(line - 1)}${code}`;
}

/** Every value that Holdfast exports, and the names of `FRAGMENT_GLOBALS` in the place of those with the same name. */
async function globals(): Promise<string> {
  const named = new Set(Array.from(FRAGMENT_GLOBALS.matchAll(/const (\w+)/g), ([, name]) => name));
  const lines: string[] = [];
  const entries = (await publicEntries()).toSorted((a, b) => a.entry.length - b.entry.length); // `holdfast` itself first
  for (const { entry, exports } of entries) {
    for (const { name, kind } of exports) {
      if (kind === 'type' || named.has(name)) continue;
      named.add(name);
      lines.push(`declare const ${name}: typeof import('${entry}').${name};`);
    }
  }
  return `${FRAGMENT_GLOBALS}${CLAUDE_SDK}${lines.join('\n')}\n`;
}
