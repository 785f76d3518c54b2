/**
 * The tree is the architecture: a folder imports only from folders above it, and the pure ones use no Node, no clock and no
 * randomness. The rules are here; they are tested on the sources and on examples.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { describe, expect, test } from 'vitest';
import { importsOf } from '../scripts/structure/imports.ts';
import { AGENT_NAMES } from '../src/transcripts/agent-names.ts';

const ROOT = join(import.meta.dirname, '../src');
const STUDIO = join(import.meta.dirname, '../studio/src');

/** Top to bottom: each may import from itself and from those before it. */
const FOLDERS = [
  'core',
  'conversation',
  'formats',
  'history',
  'transcripts',
  'ports',
  'models',
  'stores',
  'session',
  'loop',
  'importers',
  'agents',
  'worker',
  'interop',
  'server',
  'react',
  'cli',
];
/** `testing` is beside them: tools for testing stores and agents. */
const BESIDE: Readonly<Record<string, readonly string[]>> = { testing: ['core', 'ports', 'stores', 'session'] };
/** Packages that only one folder may import, except their types. */
const OWNED: Readonly<Record<string, string>> = {
  'node:sqlite': 'stores/sqlite/driver.ts',
  hono: 'server/app.ts',
  pg: 'stores/postgres/pg.ts',
  'pg-boss': 'worker/pg-boss-doorbell.ts',
};
const PURE = new Set(['core', 'conversation', 'formats', 'history', 'transcripts']);
/** What a pure folder may import from a package: the types of a standard. */
const PURE_TYPES = new Set(['@standard-schema/spec']);

/** Names that give access to time, randomness or the host. */
const IMPURE: readonly (readonly [string, RegExp])[] = [
  ['Date.now', /\bDate\s*\.\s*now\b/],
  ['new Date() without a time', /\bnew\s+Date\s*(?:\(\s*\)|(?![\w(]))/],
  ['Date() as a function', /(?<!new\s)(?<![.\w])Date\s*\(/],
  ['Math.random', /\bMath\s*\.\s*random\b/],
  ...['performance', 'process', 'crypto', 'console', 'globalThis', 'fetch', 'require', 'Buffer'].map(
    (name) => [name, new RegExp(`(?<![.\\w$'-])${name}\\b(?!\\s*[:?]|['-])`)] as const,
  ),
  ...['setTimeout', 'setInterval', 'setImmediate'].map((name) => [name, new RegExp(`\\b${name}\\b`)] as const),
];

/** The source without comments and strings; expressions in templates are code and stay. */
function codeOf(source: string): string {
  const texts = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`/g;
  return source.replace(texts, (text) =>
    text.startsWith('`') ? Array.from(text.matchAll(/\$\{([^}]*)\}/g), ([, inserted]) => ` ${inserted} `).join() : ' ',
  );
}

/** The violations of a file, by its path below src. Files in src itself are the public entries: they may import anything. */
function violationsIn(path: string, source: string): readonly string[] {
  if (!path.includes('/')) return [];
  const [folder = ''] = path.split('/');
  const allowed = BESIDE[folder] ?? FOLDERS.slice(0, FOLDERS.indexOf(folder));
  if (!(folder in BESIDE) && !FOLDERS.includes(folder)) return [`${path}: ${folder} has no place in the architecture`];
  const problems: string[] = [];
  for (const { from, typeOnly } of importsOf(source)) {
    if (from.startsWith('.')) {
      const target = posix.join(posix.dirname(path), from);
      const [wanted = ''] = target.split('/');
      const isEntry = !target.includes('/');
      if (path === 'cli/demo.ts' && target.startsWith('../examples/demo/')) continue; // the command starts the demo
      if (target.startsWith('..') || isEntry)
        problems.push(`${path}: imports ${from}, which is not below a folder of src`);
      else if (wanted !== folder && !allowed.includes(wanted)) problems.push(`${path}: ${folder} imports ${wanted}`);
    } else if (PURE.has(folder) && !(typeOnly && PURE_TYPES.has(from))) problems.push(`${path}: imports ${from}`);
    else if (!typeOnly && !path.startsWith(OWNED[from] ?? '')) problems.push(`${path}: imports ${from}`);
  }
  if (PURE.has(folder)) {
    const code = codeOf(source);
    for (const [name, pattern] of IMPURE) if (pattern.test(code)) problems.push(`${path}: mentions ${name}`);
  }
  return problems;
}

const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => relative(ROOT, join(ROOT, name)).split(sep).join('/'));

describe('the sources', () => {
  test('are found', () => {
    expect(files).toContain('core/fold/fold.ts');
    expect(files.length).toBeGreaterThan(50);
  });

  test('every folder imports only from folders above it, and the pure ones do not use the host', () => {
    expect(files.flatMap((path) => violationsIn(path, readFileSync(join(ROOT, path), 'utf8')))).toEqual([]);
  });
});

describe('the tree that ARCHITECTURE.md describes', () => {
  const page = readFileSync(join(ROOT, '../ARCHITECTURE.md'), 'utf8');

  test('is the tree of the rules, in their order; a pure folder is called pure', () => {
    const rows = Array.from(page.matchAll(/^\| `(\w+)\/` \| (\w*) ?\|/gm), ([, folder = '', kind = '']) => ({
      folder,
      kind,
    }));
    expect(rows.map(({ folder }) => folder)).toEqual([...FOLDERS, ...Object.keys(BESIDE)]);
    expect(rows.filter(({ kind }) => kind === 'pure').map(({ folder }) => folder)).toEqual([...PURE]);
  });

  /** The lists of agents, and what is written for one agent alone. Handing over has lists of its own: not every agent can be written to. */
  const MAY_NAME_AGENTS =
    /^(?:transcripts\/(?:agent-names|transcript-formats)\.ts|importers\/(?:transcript-sources\.ts|handoff\/)|agents\/)/;
  /** A folder with a format or a source is one agent's. */
  const OWN_FOLDERS = new Set(
    files.flatMap((path) => /^((?:transcripts|importers)\/[^/]+)\/[^/]+-(?:format|source)\.ts$/.exec(path)?.[1] ?? []),
  );
  const mayNameAgents = (path: string): boolean => MAY_NAME_AGENTS.test(path) || OWN_FOLDERS.has(posix.dirname(path));

  test('a transcript format is named in the lists only: no other code branches on the name of an agent', () => {
    const names = Object.entries(AGENT_NAMES).flat();
    const literal = new RegExp(`(?<quote>['"])(?:${names.join('|')})\\k<quote>`);
    const sources = files
      .filter((path) => /^(?:transcripts|importers)\//.test(path))
      .map((path) => [path, join(ROOT, path)]);
    const studio = readdirSync(STUDIO, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => [`studio/${name}`, join(STUDIO, name)]);
    const naming = [...sources, ...studio].filter(
      ([path = '', file = '']) => !mayNameAgents(path) && literal.test(readFileSync(file, 'utf8')),
    );
    expect(
      naming.map(([path]) => path),
      'files that name an agent; put what depends on it into its entry',
    ).toEqual([]);
  });
});

describe('the rules', () => {
  test.for([
    ['core/a.ts', "import { x } from '../session/session.ts';", 'core imports session'],
    ['core/a.ts', "import type { x } from '../ports/store.ts';", 'core imports ports'],
    ['stores/sqlite/a.ts', "import { x } from '../../session/session.ts';", 'stores imports session'],
    ['models/a.ts', "export { x } from '../loop/run.ts';", 'models imports loop'],
    ['session/a.ts', "export * from '../loop/run.ts';", 'session imports loop'],
    ['session/a.ts', "const x = await import('../cli/start.ts');", 'session imports cli'],
    ['session/a.ts', "import '../cli/start.ts';", 'session imports cli'],
    ['session/a.ts', "import {\n  x,\n  y,\n} from '../server/routes.ts';", 'session imports server'],
    ['testing/a.ts', "import { x } from '../loop/run.ts';", 'testing imports loop'],
    ['session/a.ts', "import { x } from '../testing/fake-clock.ts';", 'session imports testing'],
    ['stores/memory.ts', "import { x } from '../testing/fake-clock.ts';", 'stores imports testing'],
    ['stores/sqlite/a.ts', "import { DatabaseSync } from 'node:sqlite';", 'imports node:sqlite'],
    ['core/a.ts', "import { x } from '../index.ts';", 'not below a folder'],
    ['core/a.ts', "import { x } from '../../test/core/log.ts';", 'not below a folder'],
    ['core/a.ts', "import { x } from '../../examples/demo/demo.ts';", 'not below a folder'],
    ['utils/a.ts', '', 'no place'],
    ['core/a.ts', "import { readFileSync } from 'node:fs';", 'imports node:fs'],
    ['history/a.ts', "import { x } from 'tokenx';", 'imports tokenx'],
    ['core/a.ts', "import { x } from '@standard-schema/spec';", 'imports @standard-schema/spec'],
    ['core/a.ts', "import type { x } from 'zod';", 'imports zod'],
    ['core/a.ts', 'const now = Date.now();', 'Date.now'],
    ['core/a.ts', 'const now = new Date();', 'new Date()'],
    ['core/a.ts', 'const now = new Date( ).toISOString();', 'new Date()'],
    ['core/a.ts', `const now = \`\${new Date()}\`;`, 'new Date()'],
    ['core/a.ts', 'const now = Date();', 'Date()'],
    ['core/a.ts', 'const id = Math.random();', 'Math.random'],
    ['core/a.ts', 'const now = performance.now();', 'performance'],
    ['core/a.ts', 'const home = process.env.HOME;', 'process'],
    ['core/a.ts', 'const id = crypto.randomUUID();', 'crypto'],
    ['core/a.ts', 'setTimeout(() => {}, 1);', 'setTimeout'],
    ['core/a.ts', 'console.log(1);', 'console'],
    ['core/a.ts', 'const x = globalThis.crypto;', 'globalThis'],
  ] as const)('%s may not contain: %s', ([path, source, problem]) => {
    expect(violationsIn(path, source).join()).toContain(problem);
  });

  test.for([
    ['core/a.ts', "import type { StandardSchemaV1 } from '@standard-schema/spec';"],
    ['session/a.ts', "import { x } from '../core/fold.ts';\nimport { y } from './live.ts';\nimport z from 'node:fs';"],
    ['stores/sqlite/a.ts', "import { x } from '../memory.ts';\nimport { y } from '../../ports/store.ts';"],
    ['testing/a.ts', "import { x } from '../session/session.ts';"],
    ['importers/a.ts', "import type { DatabaseSync } from 'node:sqlite';"],
    ['stores/sqlite/driver.ts', "import { DatabaseSync } from 'node:sqlite';"],
    ['index.ts', "export { x } from './cli/start.ts';"],
    ['cli/demo.ts', "const x = await import('../../examples/demo/demo.ts');"],
    ['core/a.ts', '// another process, Date.now and Math.random\n/* crypto */ const at = new Date(0);'],
    ['core/a.ts', "const text = 'console.log(Date.now())';"],
    ['core/a.ts', 'const parsed = new Date(text).getTime();'],
    ['core/a.ts', 'const { process: _, ...rest } = holder; rest.performance();'],
  ] as const)('%s may contain: %s', ([path, source]) => {
    expect(violationsIn(path, source)).toEqual([]);
  });
});

describe('the rooms', () => {
  test('each path of the walks in ARCHITECTURE.md exists', () => {
    const page = readFileSync(join(ROOT, '../ARCHITECTURE.md'), 'utf8');
    const [, walks = ''] = /^## Three walks\n([\s\S]*?)^## /m.exec(page) ?? [];
    const paths = Array.from(walks.matchAll(/`((?:[a-z-]+\/)+[\w.-]*)`/g), ([, path = '']) => path);
    expect(paths.length).toBeGreaterThan(40);
    const missing = paths.filter(
      (path) => path !== 'src/' && !existsSync(join(ROOT, path.startsWith('studio/') ? '..' : '.', path)),
    );
    expect(missing).toEqual([]);
  });

  test('no folder of the sources has more than 25 files', () => {
    const counts = new Map<string, number>();
    for (const root of [ROOT, STUDIO]) {
      for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
        if (entry.isFile()) counts.set(entry.parentPath, (counts.get(entry.parentPath) ?? 0) + 1);
      }
    }
    expect([...counts].filter(([, count]) => count > 25)).toEqual([]);
  });
});
