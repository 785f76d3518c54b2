/** The first program of README.md runs as it is written, and its second run repeats nothing. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { compilerProblems, examplesIn, withSources } from '../support/documents.ts';

const directory = mkdtempSync(join(tmpdir(), 'holdfast-readme-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const page = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');

test('the programs of README.md compile', () => {
  const programs = examplesIn(page).filter((example) => /^\/\/ [a-z-]+\.ts$/m.test(example));
  expect(programs).toHaveLength(2);
  expect(compilerProblems(directory, programs)).toBe('');
});

test('the first agent calls its tool and responds; run again, it returns the recorded response without the tool', () => {
  const [program] = examplesIn(page).filter((example) => example.startsWith('// first-agent.ts'));
  writeFileSync(join(directory, 'first-agent.ts'), withSources(program ?? ''));
  const run = () =>
    execFileSync(process.execPath, ['--no-warnings', 'first-agent.ts'], { cwd: directory, encoding: 'utf8' });
  expect(run()).toBe('looking up Lisbon\ncompleted Clear in Lisbon.\n');
  expect(run()).toBe('completed Clear in Lisbon.\n');
});
