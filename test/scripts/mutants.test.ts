/** The list behind `npm run mutants`: that it fits the sources and the tests as they are now. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'vite';
import { describe, expect, test } from 'vitest';
import { ALL_MUTANTS } from '../../scripts/mutants/all-mutants.ts';
import { firstFailure } from '../../scripts/mutants/first-failure.ts';
import { mutate } from '../../scripts/mutants/mutant.ts';
import { vitestArguments } from '../../scripts/mutants/vitest-arguments.ts';

const ROOT = join(import.meta.dirname, '..', '..');

describe('every mutant', () => {
  test.for(ALL_MUTANTS)('$name: changes one piece of its source, which still parses', (mutant) => {
    const source = readFileSync(join(ROOT, mutant.file), 'utf8');
    const changed = mutate(source, mutant);
    expect(changed).not.toBe(source);
    expect(() => parseAst(changed, { lang: 'ts' })).not.toThrow();
  });

  test('has a name of its own', () => {
    const names = ALL_MUTANTS.map(({ name }) => name);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });

  test('names test files that exist', () => {
    expect(ALL_MUTANTS.filter(({ tests }) => tests.length === 0)).toEqual([]);
    const named = new Set(ALL_MUTANTS.flatMap(({ tests }) => tests));
    expect([...named].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test('names tests of PostgreSQL if and only if it is of their tier', () => {
    const isWrong = (tier: string, path: string): boolean =>
      (tier === 'postgres') !== path.startsWith('test/postgres/');
    expect(ALL_MUTANTS.filter(({ tier, tests }) => tests.some((path) => isWrong(tier, path)))).toEqual([]);
  });
});

test('there are mutants of every invariant that tests check', () => {
  const broken = new Set(ALL_MUTANTS.map(({ invariant }) => invariant));
  expect(['I1', 'I2', 'I3', 'I4', 'I5', 'I6', 'I7', 'I8', 'I10'].filter((id) => !broken.has(id as 'I1'))).toEqual([]);
});

describe('a piece of a source', () => {
  const mutant = {
    name: 'x',
    file: 'a.ts',
    find: 'b',
    replace: 'c',
    invariant: 'I1',
    tests: [],
    tier: 'fast',
  } as const;

  test('is replaced', () => {
    expect(mutate('abd', mutant)).toBe('acd');
  });

  test.for([
    ['ad', 0],
    ['abdb', 2],
  ] as const)('that does not occur once is an error: %s', ([source, count]) => {
    expect(() => mutate(source, mutant)).toThrow(`occurs ${count} times`);
  });
});

test('the first failure is the first failed test with its file, or a file that does not load', () => {
  const passed = { fullName: 'works', status: 'passed' };
  const failed = { fullName: ' a rule', status: 'failed' };
  const file = (name: string, status: string, assertionResults: readonly (typeof passed)[]) => ({
    ...{ name: `/tree/${name}`, status, assertionResults },
  });
  const fine = file('a.test.ts', 'passed', [passed]);
  expect(firstFailure({ testResults: [fine] }, '/tree')).toBeUndefined();
  expect(firstFailure({ testResults: [fine, file('b.test.ts', 'failed', [passed, failed])] }, '/tree')).toBe(
    'b.test.ts: a rule',
  );
  expect(firstFailure({ testResults: [file('c.test.ts', 'failed', [])] }, '/tree')).toBe(
    'c.test.ts, which fails as a whole',
  );
});

test('vitest gets whole paths, and for PostgreSQL the config of its tests or their project', () => {
  const run = { tests: ['test/postgres/a.test.ts'], report: '/report.json', bail: true } as const;
  const own = vitestArguments(ROOT, { ...run, tier: 'postgres' });
  const hasConfig = existsSync(join(ROOT, 'test/postgres/vitest.config.ts'));
  expect(own).toContain(hasConfig ? 'test/postgres/vitest.config.ts' : '--project');
  expect(own.at(-1)).toBe(join(ROOT, 'test/postgres/a.test.ts'));
  const other = vitestArguments('/no/tree', { ...run, tier: 'postgres' });
  expect(other).toEqual(expect.arrayContaining(['--project', 'postgres', '--bail=1']));
  expect(vitestArguments('/no/tree', { ...run, tier: 'fast', bail: false })).not.toContain('--project');
});
