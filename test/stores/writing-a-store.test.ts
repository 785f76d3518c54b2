/**
 * docs/writing-a-store.md teaches a backend with the store of examples/libsql-store. The programs of examples/store-trials accept it, and
 * detect the broken ones that the suite cannot detect.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as store from '../../src/store.ts';
import { ROOT, readPage } from '../support/documents.ts';
import { installPackage } from '../support/shell-transcript.ts';

const page = readPage('docs/writing-a-store.md');
const backend = readFileSync(join(ROOT, 'src/stores/shell/backend.ts'), 'utf8');
const directory = mkdtempSync(join(tmpdir(), 'holdfast-writing-'));
beforeAll(async () => {
  await installPackage(directory);
  symlinkSync(join(ROOT, 'node_modules/@libsql'), join(directory, 'node_modules/@libsql'), 'dir');
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Runs a program of the examples, with a store that some changes break. */
function run(
  program: 'kill.ts' | 'race.ts',
  ...changes: readonly { readonly from: string; readonly to: string }[]
): { readonly status: number | null; readonly output: string } {
  const place = mkdtempSync(join(directory, 'trial-'));
  for (const folder of ['libsql-store', 'store-trials']) {
    cpSync(join(ROOT, 'examples', folder), join(place, folder), { recursive: true });
  }
  const path = join(place, 'libsql-store/database.ts');
  for (const { from, to } of changes) {
    const source = readFileSync(path, 'utf8');
    expect(source).toContain(from);
    writeFileSync(path, source.replace(from, to));
  }
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--no-warnings', join(place, 'store-trials', program)],
    { cwd: place, encoding: 'utf8', env: { ...process.env, TMPDIR: place } },
  );
  return { status, output: `${stdout}${stderr}` };
}

/** Every statement is a transaction of its own. */
const WITHOUT_TRANSACTION = {
  from: "untilFree(() => writer.transaction('write'))",
  to: `Object.assign(Object.create(writer), {
          execute: async (statement: never) => {
            const result = await writer.execute(statement);
            pass('between two statements');
            return result;
          },
          commit: async () => {},
          close: () => {},
        })`,
};

test('every name of holdfast/store that has a meaning of its own is in the page, and there are at most 15', () => {
  const source = readFileSync(join(ROOT, 'src/store.ts'), 'utf8').replaceAll(/\/\*\*[\s\S]*?\*\//g, '');
  const names = Array.from(source.matchAll(/\{([^}]*)\}/g)).flatMap(([, list = '']) =>
    list.split(',').map((name) => name.trim()),
  );
  const exported = names.filter((name) => name !== '');
  expect(Object.keys(store)).toEqual(['defineStore']);
  expect(exported.length).toBeLessThanOrEqual(15);
  expect(exported.filter((name) => !page.includes(`\`${name}`) && !page.includes(`${name}(`))).toEqual([]);
});

test('every method of a backend is in the page', () => {
  const methods = Array.from(
    backend.slice(backend.indexOf('export interface StoreBackend')).matchAll(/^ {2}(?:readonly )?(\w+)\??[(:]/gm),
    ([, name]) => name,
  );
  expect(methods.length).toBeGreaterThan(20);
  const own = ['where', 'refuseWrites', 'feed', 'renewals', 'closing']; // a name, and what the stores of this package do besides
  expect(methods.filter((name) => !page.includes(`\`${name}`))).toEqual(own);
});

test('the page has at most 1,500 words', () => {
  expect(page.split(/\s+/).length).toBeLessThanOrEqual(1500);
});

test('a store that is killed at every point, also between its writes, loses nothing and blocks no one', () => {
  const { status, output } = run('kill.ts');
  expect(output).toContain('3 acknowledged, 3 there\n');
  expect(output).toMatch(/killed at point 1[5-9]: /); // three appends, with two points around each and three of its own
  expect(output).toContain('no point left');
  expect(status).toBe(0);
});

test('a store that writes without a transaction is detected by its own points', () => {
  const { status, output } = run('kill.ts', WITHOUT_TRANSACTION);
  expect(output).toContain('lost events, or damage');
  expect(status).not.toBe(0);
});

test('processes that race on one store lose no event and share no lease', () => {
  const { status, output } = run('race.ts');
  expect(output).toContain('nothing was lost');
  expect(status).toBe(0);
});

test('a store without a transaction is detected by the race', () => {
  const { status, output } = run('race.ts', WITHOUT_TRANSACTION);
  expect(output).not.toContain('nothing was lost');
  expect(status).not.toBe(0);
});
