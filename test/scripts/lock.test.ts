/** The rules behind `scripts/check-lock.ts`: that they find what they must, and that the lock files keep them. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { addressesWithHost } from '../../scripts/lock/addresses-with-host.ts';
import { lockProblems } from '../../scripts/lock/lock-problems.ts';
import type { LockedPackages } from '../../scripts/lock/locked-packages.ts';
import { missingPlatforms } from '../../scripts/lock/missing-platforms.ts';
import { readLocks } from '../../scripts/lock/read-locks.ts';

const locks = readLocks(join(import.meta.dirname, '..', '..'));
const root = locks.get('package-lock.json') ?? {};
const without = (packages: LockedPackages, path: string): LockedPackages =>
  Object.fromEntries(Object.entries(packages).filter(([key]) => key !== path));
const namesMissing = (packages: LockedPackages): readonly string[] =>
  missingPlatforms(packages).map(({ name }) => name);

describe('the lock files', () => {
  test('all are read', () => {
    expect([...locks.keys()]).toEqual(['package-lock.json', 'test/agents/package-lock.json']);
    expect(Object.keys(root).length).toBeGreaterThan(500);
  });

  test('have no problem', () => {
    expect(lockProblems(locks)).toEqual([]);
  });

  test('without the entry of one platform, the problem names the platform, the package that needs it and the next step', () => {
    const broken = without(root, 'node_modules/@tailwindcss/oxide-darwin-arm64');
    const [problem, ...others] = lockProblems(new Map([...locks, ['package-lock.json', broken]]));
    expect(others).toEqual([]);
    expect(problem).toContain('@tailwindcss/oxide-darwin-arm64');
    expect(problem).toContain('node_modules/@tailwindcss/oxide 4.3.3');
    expect(problem).toContain('npm install --package-lock-only');
    expect(problem).toContain('pin');
  });

  const platforms = Object.entries(root).filter(([, { optional, os, cpu }]) => optional && (os ?? cpu) !== undefined);
  test('the entry of no platform can be removed unnoticed', () => {
    expect(platforms.length).toBeGreaterThan(100);
    const unnoticed = platforms.filter(([path]) => missingPlatforms(without(root, path)).length === 0);
    expect(unnoticed.map(([path]) => path)).toEqual([]);
  });

  test('a package that is excused although nothing of it is missing is a problem', () => {
    const agents: LockedPackages = { '': {}, 'node_modules/opencode-ai': { version: '1.0.0', integrity: 'sha512-a' } };
    const problems = lockProblems(new Map([['test/agents/package-lock.json', agents]]));
    expect(problems).toEqual([expect.stringContaining('opencode-ai')]);
  });
});

describe('missing platforms', () => {
  const tool = { version: '2.0.0', integrity: 'sha512-a', optionalDependencies: { 'tool-linux': '2.0.0' } };
  const program = { version: '2.0.0', integrity: 'sha512-b' };

  test.for<[what: string, packages: LockedPackages]>([
    ['no entry', { 'node_modules/tool': tool }],
    ['an entry without an integrity', { 'node_modules/tool': tool, 'node_modules/tool-linux': { version: '2.0.0' } }],
    ['an entry without a version', { 'node_modules/tool': tool, 'node_modules/tool-linux': { integrity: 'sha512-b' } }],
    [
      'an entry of another version',
      { 'node_modules/tool': tool, 'node_modules/tool-linux': { ...program, version: '1.0.0' } },
    ],
    [
      'an entry that only another package can load',
      { 'node_modules/tool': tool, 'node_modules/other/node_modules/tool-linux': program },
    ],
    ['no entry of what a workspace needs', { 'scripts/tool': tool }],
  ])('%s is reported', ([, packages]) => {
    expect(namesMissing(packages)).toEqual(['tool-linux']);
  });

  test.for<[where: string, packages: LockedPackages]>([
    ['beside its package', { 'node_modules/tool': tool, 'node_modules/tool-linux': program }],
    ['inside its package', { 'node_modules/tool': tool, 'node_modules/tool/node_modules/tool-linux': program }],
    [
      'at the top, for a nested package',
      { 'node_modules/a/node_modules/@b/tool': tool, 'node_modules/tool-linux': program },
    ],
    ['at the top, for a workspace', { 'scripts/tool': tool, 'node_modules/tool-linux': program }],
    [
      'in the archive of its package',
      { 'node_modules/tool': tool, 'node_modules/tool-linux': { version: '2.0.0', inBundle: true } },
    ],
    [
      'in a workspace',
      { 'node_modules/tool': tool, 'node_modules/tool-linux': { link: true, resolved: 'scripts/linux' } },
    ],
  ])('an entry %s is found', ([, packages]) => {
    expect(namesMissing(packages)).toEqual([]);
  });

  test.for(['2.0.0', '^2.0.0', '>=1 <3', 'npm:tool@2.0.0', 'npm:@tools/linux@2.0.0'])(
    'version 2.0.0 is accepted for %s',
    (wanted) => {
      const needs = { ...tool, optionalDependencies: { 'tool-linux': wanted } };
      expect(namesMissing({ 'node_modules/tool': needs, 'node_modules/tool-linux': program })).toEqual([]);
    },
  );

  test('an alias of another version is reported', () => {
    const needs = { ...tool, optionalDependencies: { 'tool-linux': 'npm:tool@2.0.0-linux' } };
    expect(namesMissing({ 'node_modules/tool': needs, 'node_modules/tool-linux': program })).toEqual(['tool-linux']);
  });
});

describe('addresses with a host', () => {
  test.for([
    'https://registry.example/a/-/a-1.0.0.tgz',
    'http://localhost:4873/a.tgz',
    'git+ssh://git@host.example/a.git',
  ])('%s is reported', (resolved) => {
    expect(addressesWithHost({ 'node_modules/a': { version: '1.0.0', resolved } })).toEqual([
      { path: 'node_modules/a', address: resolved },
    ]);
  });

  test.for(['test/consumers/react-18', '../a', 'file:../a.tgz'])('%s has none', (resolved) => {
    expect(addressesWithHost({ 'node_modules/a': { resolved } })).toEqual([]);
  });
});
