/** Every cited decision and invariant is defined: `D12` in docs/decisions.md, `I3` in SPEC.md. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const PLACES = ['src', 'test', 'bench', 'scripts', 'docs', 'README.md', 'ARCHITECTURE.md', 'SPEC.md', 'CHANGELOG.md'];
const NOT_OURS = new Set(['node_modules', 'fixtures']);

function filesIn(path: string): readonly string[] {
  if (!statSync(path).isDirectory()) return /\.(ts|md)$/.test(path) ? [path] : [];
  return readdirSync(path).flatMap((name) => (NOT_OURS.has(name) ? [] : filesIn(join(path, name))));
}

const read = (path: string): string => readFileSync(path, 'utf8');
const defined = new Set([
  ...Array.from(read(join(ROOT, 'docs/decisions.md')).matchAll(/^- \*\*(D\d+) /gm), ([, code]) => code),
  ...Array.from(read(join(ROOT, 'SPEC.md')).matchAll(/^\d+\. \*\*(I\d+)\*\*/gm), ([, code]) => code),
]);

/** A code on its own, in prose or at the start of a test's name; not a complete quoted text, which is data. */
const CITATION = /(?<![\w$/.-])([DI]\d{1,2})(?![\w$'"`/-])/g;

test('every cited decision and invariant is defined', () => {
  const missing = PLACES.flatMap((place) => filesIn(join(ROOT, place))).flatMap((file) =>
    Array.from(read(file).matchAll(CITATION), ([, code = '']) => code)
      .filter((code) => !defined.has(code))
      .map((code) => `${relative(ROOT, file)}: ${code}`),
  );
  expect(missing).toEqual([]);
  expect(defined.size).toBeGreaterThan(80);
});
