/**
 * docs/writing-a-store.md names the building blocks of a store. Its programs run as they are written, accept the stores that the page
 * names, and detect the broken ones that the suite cannot detect.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as store from '../../src/store.ts';
import { programIn, ROOT, readPage, withSources } from '../support/documents.ts';
import { installPackage } from '../support/shell-transcript.ts';

const PAGE = 'docs/writing-a-store.md';
const page = readPage(PAGE);
const directory = mkdtempSync(join(tmpdir(), 'holdfast-writing-'));
beforeAll(() => installPackage(directory));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const OPENS_SQLITE = "import { sqliteStore as openMyStore } from 'holdfast/sqlite';";

/** Runs a program of the page, and returns whether it succeeded and what it printed. */
function run(
  place: string,
  file: string,
  program: string,
): { readonly status: number | null; readonly output: string } {
  writeFileSync(join(place, file), program);
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', file], {
    cwd: place,
    encoding: 'utf8',
    env: { ...process.env, TMPDIR: place },
  });
  return { status, output: `${stdout}${stderr}` };
}

interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A place with a copy of the example store, broken by some changes, and a program of the page with it in the place of SQLite. */
function withExample(
  file: string,
  ...changes: readonly Change[]
): { readonly place: string; readonly program: string } {
  const place = mkdtempSync(join(directory, 'example-'));
  cpSync(join(ROOT, 'examples/json-store'), place, { recursive: true });
  for (const change of changes) {
    const path = join(place, change.file);
    writeFileSync(path, replaced(readFileSync(path, 'utf8'), change.from, change.to));
  }
  const opensExample = "import { jsonFileStore as openMyStore } from './json-file-store.ts';";
  return { place, program: replaced(programIn(PAGE, file), OPENS_SQLITE, opensExample) };
}

function replaced(text: string, from: string, to: string): string {
  expect(text).toContain(from);
  return text.replace(from, to);
}

/** `kill.ts`, with the points of the store itself. */
function withOwnPoints(program: string): string {
  return replaced(program, 'openMyStore(path), points', 'openMyStore(path, { pass: points.pass }), points');
}

test('every function and constant of holdfast/store is named in the page', () => {
  expect(Object.keys(store).filter((name) => !page.includes(`\`${name}`) && !page.includes(`${name}(`))).toEqual([]);
});

test('every method of a store has a section', () => {
  const port = readFileSync(join(ROOT, 'src/ports/store.ts'), 'utf8');
  const methods = Array.from(port.slice(port.indexOf('export interface Store {')).matchAll(/^ {2}(\w+)\??\(/gm));
  expect(methods.length).toBeGreaterThan(20);
  expect(methods.filter(([, name]) => !page.includes(`\n### ${name}\n`)).map(([, name]) => name)).toEqual([]);
});

test('the program that kills a store at every point finds every acknowledged event', () => {
  const { status, output } = run(mkdtempSync(join(directory, 'kill-')), 'kill.ts', programIn(PAGE, 'kill.ts'));
  expect(output).toContain('killed at point 6: 2 acknowledged, 3 there');
  expect(output).toContain('no point left');
  expect(status).toBe(0);
});

test('the example store, killed between its writes, loses nothing and leaves no lock that blocks others', () => {
  const { place, program } = withExample('kill.ts');
  const { status, output } = run(place, 'kill.ts', withOwnPoints(program));
  expect(output).toContain(
    'killed at point 12: 2 acknowledged, 3 there\nkilled at point 13: 3 acknowledged, 3 there\n',
  );
  expect(status).toBe(0);
});

test('a store that writes in place passes without points of its own, and is detected with them', () => {
  const { place, program } = withExample(
    'kill.ts',
    { file: 'json-file.ts', from: '.#path}.next`', to: '.#path}`' },
    {
      file: 'json-file.ts',
      from: "const file = openSync(next, 'w');",
      to: "const file = openSync(next, 'w'); this.#pass('between truncation and write');",
    },
  );
  expect(run(place, 'kill.ts', program)).toMatchObject({ status: 0 });
  const { status, output } = run(place, 'kill.ts', withOwnPoints(program));
  expect(output).toContain('is damaged; restore a backup');
  expect(status).not.toBe(0);
});

test('a store whose lock outlives its holder is detected', () => {
  const { place, program } = withExample(
    'kill.ts',
    { file: 'file-lock.ts', from: 'isDead(JSON.parse(held))', to: 'isDead === undefined' },
    { file: 'file-lock.ts', from: 'WAIT_MS = 10_000', to: 'WAIT_MS = 100' },
  );
  const { status, output } = run(place, 'kill.ts', withOwnPoints(program));
  expect(output).toContain('is held by another process');
  expect(status).not.toBe(0);
});

test('processes that race on one store lose no event and share no lease', () => {
  const { status, output } = run(mkdtempSync(join(directory, 'race-')), 'race.ts', programIn(PAGE, 'race.ts'));
  expect(output).toContain('nothing was lost');
  expect(status).toBe(0);
});

test('processes that race on the example store lose no event and share no lease', () => {
  const { place, program } = withExample('race.ts');
  const { status, output } = run(place, 'race.ts', program);
  expect(output).toContain('nothing was lost');
  expect(status).toBe(0);
});

test('a store without a lock between processes is detected by the race', () => {
  const { place, program } = withExample('race.ts', {
    file: 'json-file.ts',
    from: 'return await lockFile(',
    to: 'return (async (_: string) => () => {})(',
  });
  const { status, output } = run(place, 'race.ts', program);
  expect(output).not.toContain('nothing was lost');
  expect(status).not.toBe(0);
});

test('the test of a store passes as it is written, and shows the rules that it cannot test as skipped', () => {
  const place = mkdtempSync(join(directory, 'suite-'));
  symlinkSync(join(ROOT, 'node_modules'), join(place, 'node_modules'), 'dir');
  writeFileSync(join(place, 'my-store.test.ts'), withSources(programIn(PAGE, 'my-store.test.ts')));
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const output = execFileSync(process.execPath, ['--no-warnings', vitest, 'run', '--root', place], {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  });
  expect(output).toMatch(/Tests +\d+ passed \| 1 skipped/); // it has no `loseContent`
});
