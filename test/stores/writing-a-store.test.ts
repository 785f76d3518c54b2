/** docs/writing-a-store.md names the building blocks of a store, and its programs run as they are written. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import * as store from '../../src/store.ts';
import { examplesIn, withSources } from '../support/documents.ts';

const ROOT = join(import.meta.dirname, '../..');
const page = readFileSync(join(ROOT, 'docs/writing-a-store.md'), 'utf8');
const directory = mkdtempSync(join(tmpdir(), 'holdfast-writing-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('every function and constant of holdfast/store is named in the page', () => {
  expect(Object.keys(store).filter((name) => !page.includes(`\`${name}`) && !page.includes(`${name}(`))).toEqual([]);
});

test('the program that kills a store at every point finds every acknowledged event', () => {
  const [program] = examplesIn(page).filter((example) => example.startsWith('// kill.ts'));
  const path = join(directory, 'kill.ts');
  writeFileSync(path, withSources(program ?? ''));
  const output = execFileSync(process.execPath, ['--no-warnings', path], {
    encoding: 'utf8',
    env: { ...process.env, TMPDIR: directory },
  });
  expect(output).toContain('killed at point 6: 2 acknowledged, 3 there');
  expect(output).toContain('no point left');
});
