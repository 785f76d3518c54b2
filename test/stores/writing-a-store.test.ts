/** docs/writing-a-store.md names the building blocks of a store, and its programs run as they are written. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import * as store from '../../src/store.ts';
import { programIn, ROOT, readPage, withSources } from '../support/documents.ts';

const PAGE = 'docs/writing-a-store.md';
const page = readPage(PAGE);
const directory = mkdtempSync(join(tmpdir(), 'holdfast-writing-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('every function and constant of holdfast/store is named in the page', () => {
  expect(Object.keys(store).filter((name) => !page.includes(`\`${name}`) && !page.includes(`${name}(`))).toEqual([]);
});

test('the program that kills a store at every point finds every acknowledged event', () => {
  const path = join(directory, 'kill.ts');
  writeFileSync(path, withSources(programIn(PAGE, 'kill.ts')));
  const output = execFileSync(process.execPath, ['--no-warnings', path], {
    encoding: 'utf8',
    env: { ...process.env, TMPDIR: directory },
  });
  expect(output).toContain('killed at point 6: 2 acknowledged, 3 there');
  expect(output).toContain('no point left');
});

test('the test of a store passes as it is written', () => {
  const place = mkdtempSync(join(directory, 'suite-'));
  symlinkSync(join(ROOT, 'node_modules'), join(place, 'node_modules'), 'dir');
  writeFileSync(join(place, 'my-store.test.ts'), withSources(programIn(PAGE, 'my-store.test.ts')));
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const output = execFileSync(process.execPath, ['--no-warnings', vitest, 'run', '--root', place], {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  });
  expect(output).toMatch(/Tests +\d+ passed/);
});
