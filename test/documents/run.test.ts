/** The programs of the pages run, and print what their page says. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { examples, pages, placeOf, ROOT } from '../support/documents.ts';
import { actualTranscript, filesRunBy, installPackage, transcriptsIn } from '../support/shell-transcript.ts';

const directory = mkdtempSync(join(tmpdir(), 'holdfast-programs-'));
beforeAll(() => installPackage(directory));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Programs that listen, watch or are tests have a test of their own, which names the page and the file. */
const tests = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts') && !path.includes('node_modules'))
  .map((path) => readFileSync(join(ROOT, 'test', path), 'utf8'));

const transcripts = pages().flatMap(transcriptsIn);

test.for(transcripts.map((fence) => [placeOf(fence), fence] as const))(
  'the commands at %s print what the page says',
  ([, fence]) => {
    expect(actualTranscript(directory, fence)).toBe(fence.code);
  },
);

test('every program of a page is run: by a command on its page, or by a test of its own', () => {
  const commands = new Set(transcripts.flatMap((fence) => filesRunBy(fence).map((file) => `${fence.page} ${file}`)));
  const isRun = (page: string, file: string): boolean =>
    commands.has(`${page} ${file}`) || tests.some((text) => text.includes(page) && text.includes(file));
  const programs = examples().flatMap(({ page, file }) => (file === undefined ? [] : [{ page, file }]));
  expect(programs.length).toBeGreaterThan(10);
  expect(programs.filter(({ page, file }) => !isRun(page, file))).toEqual([]);
});
