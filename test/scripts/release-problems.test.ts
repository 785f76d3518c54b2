/** What keeps a version from being tagged and from being published. */
import { describe, expect, test } from 'vitest';
import { publishProblems, tagProblems } from '../../scripts/release/release-problems.ts';

const UNRELEASED = '# Changelog\n\n## 0.2.0 (unreleased)\n\n- New.\n\n## 0.1.0 (2026-01-31)\n\nThe first version.\n';
const DATED = UNRELEASED.replace('unreleased', '2026-03-01');

describe('tagging', () => {
  const ready = {
    version: '0.2.0',
    packageVersion: '0.1.0',
    changes: '',
    branch: 'main',
    tags: ['v0.1.0', 'other', 'v-next'],
    changelog: UNRELEASED,
    pages: { 'README.md': '# Holdfast\n' },
  };

  test('a new version with a section, in a clean tree on main, has no problem', () => {
    expect(tagProblems(ready)).toEqual([]);
    expect(tagProblems({ ...ready, packageVersion: '0.2.0' })).toEqual([]);
    expect(tagProblems({ ...ready, tags: [] })).toEqual([]);
    expect(tagProblems({ ...ready, tags: ['v0.2.0-beta.1'] })).toEqual([]);
  });

  test.for([
    ['a changed tree', { changes: ' M src/index.ts\n?? new.ts\n' }, 'not committed:\n M src/index.ts\n?? new.ts'],
    ['another branch', { branch: 'habits' }, 'the branch is habits; releases are made on main'],
    ['no branch', { branch: '' }, 'the branch is none'],
    ['a version that is none', { version: '0.2' }, '"0.2" is not a version'],
    ['a version with a v', { version: 'v0.2.0' }, '"v0.2.0" is not a version'],
    ['a version that has a tag', { tags: ['v0.2.0'] }, '0.2.0 is not newer than 0.2.0'],
    ['a version older than a tag', { tags: ['v0.9.0', 'v0.10.0'] }, '0.2.0 is not newer than 0.10.0'],
    ['a version older than package.json', { packageVersion: '0.3.0' }, '0.2.0 is older than package.json, 0.3.0'],
    ['no section', { changelog: '# Changelog\n' }, 'has no section "## 0.2.0 (unreleased)"'],
    ['an empty section', { changelog: '## 0.2.0 (unreleased)\n\n' }, 'the section 0.2.0 of CHANGELOG.md is empty'],
    ['a dated section', { changelog: DATED }, 'CHANGELOG.md says that 0.2.0 was released on 2026-03-01'],
    ['a newer section', { changelog: `## 0.3.0 (unreleased)\n- x\n\n${UNRELEASED}` }, 'is 0.3.0, not 0.2.0'],
    ['a page of an unpublished package', { pages: { 'docs/a.md': 'It is not published yet.' } }, 'docs/a.md says'],
  ] as const)('%s is a problem', ([, change, problem]) => {
    expect(tagProblems({ ...ready, ...change })).toEqual([expect.stringContaining(problem)]);
  });

  test('every problem is named at once', () => {
    expect(
      tagProblems({ ...ready, branch: 'habits', changes: '?? x', tags: ['v0.2.0'], changelog: DATED }),
    ).toHaveLength(4);
  });
});

describe('publishing', () => {
  const ready = {
    version: '0.2.0',
    packageVersion: '0.2.0',
    changes: '',
    changelog: DATED,
    pages: { 'README.md': '# Holdfast\n' },
    ref: 'refs/tags/v0.2.0',
    hasIdentity: true,
  };

  test('a dated version, in the workflow of its tag, has no problem', () => {
    expect(publishProblems(ready)).toEqual([]);
  });

  test.for([
    ['a machine without an identity', { hasIdentity: false }, 'provenance needs a workflow'],
    ['another version in package.json', { packageVersion: '0.1.0' }, 'package.json is 0.1.0, not 0.2.0'],
    ['the tag of another version', { ref: 'refs/tags/v0.1.0' }, 'not for refs/tags/v0.2.0'],
    ['a branch', { ref: 'refs/heads/v0.2.0' }, 'runs for refs/heads/v0.2.0'],
    ['no ref', { ref: undefined }, 'runs for nothing'],
    ['a section without a date', { changelog: UNRELEASED }, 'says that 0.2.0 is unreleased'],
    ['a changed tree', { changes: ' M package.json' }, 'not committed'],
  ] as const)('%s is a problem', ([, change, problem]) => {
    expect(publishProblems({ ...ready, ...change })).toEqual([expect.stringContaining(problem)]);
  });
});
