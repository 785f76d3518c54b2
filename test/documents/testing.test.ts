/** The test of an agent in docs/testing.md passes as it is written. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { programIn, withSources } from '../support/documents.ts';

const directory = mkdtempSync(join(tmpdir(), 'holdfast-testing-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('the test of an agent passes', () => {
  const path = join(directory, 'agent.test.mts');
  writeFileSync(path, withSources(programIn('docs/testing.md', 'agent.test.mts')));
  const output = execFileSync(process.execPath, ['--no-warnings', '--test', '--test-reporter=tap', path], {
    encoding: 'utf8',
  });
  expect(output).toMatch(/^# pass 2$/m);
});
