/** The five lines at the top of README.md work as they are, after a crash and again, and the page stays short. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { fencesIn, readPage, withSources } from '../support/documents.ts';

const directory = mkdtempSync(join(tmpdir(), 'holdfast-readme-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** What the reader brings: a tool, and a model in the place of a provider's. */
const BEFORE = `
import { defineTool, scriptedModel } from 'holdfast';
import { z } from 'zod';
const weather = defineTool({
  name: 'weather', description: 'Looks up the weather', input: z.object({ city: z.string() }), effect: 'read',
  execute: ({ city }) => {
    console.log('looking up ' + city);
    if (process.env.CRASH) process.kill(process.pid, 'SIGKILL');
    return 'clear';
  },
});
const openai = (id) => scriptedModel([{ toolCalls: [{ name: 'weather', arguments: { city: 'Lisbon' } }] }, 'Clear.']);
`;

test('README.md has at most 700 words', () => {
  expect(readPage('README.md').split(/\s+/).length).toBeLessThanOrEqual(700);
});

test('the first code of README.md continues after a crash inside a tool, and the same lines return the recorded response', () => {
  const [first] = fencesIn('README.md');
  const lines = first?.code.trimEnd().split('\n') ?? [];
  expect(lines).toHaveLength(5);
  const path = join(directory, 'five-lines.mts');
  writeFileSync(path, withSources([BEFORE, ...lines, 'console.log(status, text);', 'await store.close();'].join('\n')));
  const run = (environment: NodeJS.ProcessEnv = {}): string => {
    const env = { ...process.env, NO_COLOR: '1', ...environment };
    const { stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', path], {
      cwd: directory,
      encoding: 'utf8',
      env,
    });
    return `${stdout}${stderr}`;
  };
  expect(run({ CRASH: '1' })).toBe('looking up Lisbon\n');
  expect(run()).toBe('looking up Lisbon\ncompleted Clear.\n');
  expect(run()).toBe('completed Clear.\n');
});
