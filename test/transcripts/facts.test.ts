/** Every fact known about transcripts has a test: the lists name tests that exist. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CLAUDE_FACTS } from './claude-facts.ts';
import { CODEX_FACTS } from './codex-facts.ts';
import { missingIn, testsIn } from './facts.ts';

const FACTS = [...CLAUDE_FACTS, ...CODEX_FACTS];

function sourceOf(file: string): string {
  const path = join(import.meta.dirname, '..', file);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

describe('facts about transcripts', () => {
  test.for(FACTS)('$agent: $fact', ({ tests }) => {
    expect(tests).not.toEqual([]);
    expect(tests.map((one) => [one.file, missingIn(sourceOf(one.file), one)])).toEqual(
      tests.map(({ file }) => [file, []]),
    );
  });

  test('each is listed once', () => {
    const facts = FACTS.map(({ agent, fact }) => `${agent}: ${fact}`);
    expect(facts).toEqual([...new Set(facts)]);
  });
});

describe('a test that is listed', () => {
  const listed = testsIn('x.test.ts');
  const source = "test.for([\n  ['a row', 1],\n])(\n  'it\\'s %s',\n  () => {},\n);\n// test('gone', …\nnamed('gone');";

  test('is found by its title and its rows', () => {
    expect(missingIn(source, listed("it's %s", 'a row'))).toEqual([]);
  });

  test.for([
    ['it', []],
    ['gone', []],
    ["it's %s", ['row']],
  ] as const)('is missing when only a part of it is there: %j %j', ([title, rows]) => {
    expect(missingIn(source, listed(title, ...rows))).toEqual(rows.length > 0 ? rows : [title]);
  });
});
