/** The sections of CHANGELOG.md, as the release reads and dates them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { changelogSections, datedChangelog } from '../../scripts/release/changelog.ts';
import { isVersion } from '../../scripts/release/version.ts';

const CHANGELOG = `# Changelog

## 0.2.0 (unreleased)

- A new thing, see 0.1.0 (unreleased).

### Stores
- \`## 9.9.9 (unreleased)\` is not a heading here.

## 0.1.0 (2026-01-31)
The first version.
`;

test('every section has its version, its date and its text, with the headings inside of it', () => {
  expect(changelogSections(CHANGELOG)).toEqual([
    {
      version: '0.2.0',
      date: undefined,
      text: '- A new thing, see 0.1.0 (unreleased).\n\n### Stores\n- `## 9.9.9 (unreleased)` is not a heading here.',
    },
    { version: '0.1.0', date: '2026-01-31', text: 'The first version.' },
  ]);
});

test('a changelog without sections has none', () => {
  expect(changelogSections('# Changelog\n')).toEqual([]);
  expect(changelogSections('')).toEqual([]);
});

test.for(['## 0.2.0', '## Unreleased', '## 0.2.0 (soon)', '## 0.2.0 (31.1.2026)', '## 0.2.0(unreleased)'])(
  'the heading "%s" is refused with an example',
  (heading) => {
    expect(() => changelogSections(`# Changelog\n\n${heading}\n\ntext\n`)).toThrow('such as "## 1.2.3 (unreleased)"');
  },
);

test('dating a version changes its heading and nothing else', () => {
  const dated = datedChangelog(CHANGELOG, '0.2.0', '2026-03-01');
  expect(dated).toBe(CHANGELOG.replace('## 0.2.0 (unreleased)\n', '## 0.2.0 (2026-03-01)\n'));
  expect(changelogSections(dated)[0]).toMatchObject({ version: '0.2.0', date: '2026-03-01' });
});

test('a changelog with Windows line ends is read and dated', () => {
  const windows = CHANGELOG.replaceAll('\n', '\r\n');
  expect(changelogSections(windows).map(({ version }) => version)).toEqual(['0.2.0', '0.1.0']);
  expect(datedChangelog(windows, '0.2.0', '2026-03-01')).toContain('## 0.2.0 (2026-03-01)');
});

test.for(['0.1.0', '0.3.0', '9.9.9', '0.2'])('dating %s, which is no unreleased section, throws', (version) => {
  expect(() => datedChangelog(CHANGELOG, version, '2026-03-01')).toThrow(`no heading "## ${version} (unreleased)"`);
});

test('CHANGELOG.md has sections that the release can read, one for the version of package.json', () => {
  const read = (path: string): string => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
  const sections = changelogSections(read('CHANGELOG.md'));
  expect(sections.filter(({ version, text }) => !isVersion(version) || text === '')).toEqual([]);
  expect(sections.map(({ version }) => version)).toContain(
    (JSON.parse(read('package.json')) as { readonly version: string }).version,
  );
});
