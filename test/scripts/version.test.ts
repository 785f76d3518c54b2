/** Versions, as the release checks and orders them. */
import { expect, test } from 'vitest';
import { publishCommand } from '../../scripts/release/publish-command.ts';
import { compareVersions, isVersion } from '../../scripts/release/version.ts';

test.for(['0.1.0', '10.20.30', '1.0.0-beta.1', '1.0.0-0', '1.0.0-a-b.0x'])('%s is a version', (text) => {
  expect(isVersion(text)).toBe(true);
});

test.for([
  '',
  '1',
  '1.2',
  'v1.2.3',
  '1.2.3.4',
  '01.2.3',
  '1.2.3-',
  '1.2.3-01',
  '1.2.3-a..b',
  '1.2.3+build',
  ' 1.2.3',
  '1.2.3\n',
])('%j is not a version', (text) => {
  expect(isVersion(text)).toBe(false);
  expect(() => compareVersions(text, '1.0.0')).toThrow('is not a version');
});

/** From the oldest to the newest, in the order of semver.org. */
const IN_ORDER = [
  '0.0.9',
  '0.1.0-alpha',
  '0.1.0-alpha.1',
  '0.1.0-alpha.beta',
  '0.1.0-beta',
  '0.1.0-beta.2',
  '0.1.0-beta.11',
  '0.1.0-rc.1',
  '0.1.0',
  '0.1.1',
  '0.2.0',
  '0.10.0',
  '1.0.0-0',
  '1.0.0',
  '10.0.0',
];

test('versions are ordered as semver orders them', () => {
  for (const [i, one] of IN_ORDER.entries()) {
    for (const [j, other] of IN_ORDER.entries()) {
      expect([one, other, Math.sign(compareVersions(one, other))]).toEqual([one, other, Math.sign(i - j)]);
    }
  }
});

test('a release is published with provenance, a version before it not as the latest', () => {
  expect(publishCommand('0.1.0').join(' ')).toBe('npm publish --provenance --access public');
  expect(publishCommand('0.1.0', { isDryRun: true }).join(' ')).toBe(
    'npm publish --provenance --access public --dry-run',
  );
  expect(publishCommand('0.2.0-beta.1').join(' ')).toBe('npm publish --provenance --access public --tag next');
});
