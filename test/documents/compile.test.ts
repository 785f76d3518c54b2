/** Every example of TypeScript in README.md, SPEC.md and docs compiles against the sources, those in the tables of docs/names.md, too. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { compilerProblems } from '../support/compile-examples.ts';
import { examples, examplesInTables, fencesIn } from '../support/documents.ts';

const directory = mkdtempSync(join(tmpdir(), 'holdfast-examples-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('every ts and tsx fence compiles, and every example of docs/names.md', async () => {
  const all = [...examples(), ...examplesInTables('docs/names.md')];
  expect(all.length).toBeGreaterThan(90);
  expect(await compilerProblems(directory, all)).toBe('');
});

test('an example that does not compile is reported with its page and line', async () => {
  const place = mkdtempSync(join(directory, 'broken-'));
  const page = '# Page\n\n<!-- context: declare const user: string; -->\n\n```ts\nsession.sent(user);\n```\n';
  expect(await compilerProblems(place, fencesIn('docs/page.md', page))).toMatch(
    /docs\.page\.md\.6\.mts\(6,9\): error TS2339/,
  );
});
