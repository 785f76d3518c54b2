/** docs/errors.md lists every error code once, and no other. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const read = (path: string): string => readFileSync(join(import.meta.dirname, '..', path), 'utf8');

test('the page of errors lists every code, each in one row', () => {
  const [, union = ''] = /export type ErrorCode =\n(.*?);/s.exec(read('src/core/errors.ts')) ?? [];
  const codes = Array.from(union.matchAll(/'([A-Z_]+)'/g), ([, code]) => code);
  const listed = Array.from(read('docs/errors.md').matchAll(/^\| `([A-Z_]+)` \|/gm), ([, code]) => code);
  expect(listed.toSorted()).toEqual(codes.toSorted());
});
