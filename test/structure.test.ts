/** The rules behind `scripts/check-structure.ts` find what they must; `npm run check` applies them to the tree. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { importCycles } from '../scripts/structure/import-cycles.ts';
import { longFiles } from '../scripts/structure/long-files.ts';
import { readSources } from '../scripts/structure/read-sources.ts';
import { unseededTests } from '../scripts/structure/unseeded-tests.ts';

const tree = readSources(join(import.meta.dirname, '..'), ['src', 'test', 'scripts', 'bench']);

describe('the tree', () => {
  test('is read without fixtures and installed packages', () => {
    const paths = [...tree.keys()];
    expect(paths).toEqual(
      expect.arrayContaining(['src/core/fold/fold.ts', 'test/structure.test.ts', 'scripts/check.ts']),
    );
    expect(paths.filter((path) => /node_modules|\/fixtures\//.test(path))).toEqual([]);
  });
});

describe('import cycles', () => {
  const sources = (files: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
    new Map(Object.entries(files));

  test.for([
    ['two modules', { 'src/a.ts': "import { b } from './b.ts';", 'src/b.ts': "import { a } from './a.ts';" }],
    ['a re-export', { 'src/a.ts': "export * from './b.ts';", 'src/b.ts': "import { a } from './a.ts';" }],
    ['a dynamic import', { 'src/a.ts': "await import('./b.ts');", 'src/b.ts': "import './a.ts';" }],
    [
      'an import whose names are all types',
      { 'src/a.ts': "import { type B } from './b.ts';", 'src/b.ts': "import './a.ts';" },
    ],
    ['folders', { 'src/x/a.ts': "import '../y/b.ts';", 'src/y/b.ts': "import '../x/a.ts';" }],
    [
      'three modules',
      { 'src/a.ts': "import './b.ts';", 'src/b.ts': "import './c.ts';", 'src/c.ts': "import './a.ts';" },
    ],
  ] as const)('a cycle through %s is found, once', ([, files]) => {
    const cycles = importCycles(sources(files));
    expect(cycles.map((cycle) => cycle.toSorted())).toEqual([Object.keys(files)]);
  });

  test('a module that imports itself is a cycle', () => {
    expect(importCycles(sources({ 'src/a.ts': "import './a.ts';" }))).toEqual([['src/a.ts']]);
  });

  test('a module outside a cycle that imports it is not part of it', () => {
    const cycles = importCycles(
      sources({ 'src/a.ts': "import './b.ts';", 'src/b.ts': "import './a.ts';", 'src/c.ts': "import './a.ts';" }),
    );
    expect(cycles).toEqual([['src/a.ts', 'src/b.ts']]);
  });

  test.for([
    [
      'a type import back',
      { 'src/a.ts': "import { b } from './b.ts';", 'src/b.ts': "import type { A } from './a.ts';" },
    ],
    ['a type re-export back', { 'src/a.ts': "import './b.ts';", 'src/b.ts': "export type { A } from './a.ts';" }],
    [
      'two ways to one module',
      { 'src/a.ts': "import './b.ts';\nimport './c.ts';", 'src/b.ts': "import './c.ts';", 'src/c.ts': '' },
    ],
    ['a package of the same name', { 'src/a.ts': "import 'a';" }],
  ] as const)('%s is no cycle', ([, files]) => {
    expect(importCycles(sources(files))).toEqual([]);
  });
});

describe('long files', () => {
  test('400 lines are allowed, 401 are not', () => {
    const sources = new Map([
      ['a.ts', 'x\n'.repeat(400)],
      ['b.ts', `${'x\n'.repeat(400)}x`],
      ['c.ts', 'x\n'.repeat(401)],
    ]);
    expect(longFiles(sources)).toEqual([
      { path: 'b.ts', lines: 401 },
      { path: 'c.ts', lines: 401 },
    ]);
  });
});

test.for([
  ['Math.random()', 'const at = Math.random() * 3;', true],
  ['a seed of the clock', 'const seed = Date.now() % 2 ** 30;', true],
  ['numbers of the run’s seed', 'const random = randomFrom(SEED);', false],
] as const)('a test with %s is reported if it cannot be repeated', ([, source, isReported]) => {
  const path = 'test/loop/some.test.ts';
  expect(unseededTests(new Map([[path, source]]))).toEqual(isReported ? [path] : []);
});
