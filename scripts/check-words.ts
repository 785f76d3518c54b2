/**
 * `node scripts/check-words.ts`: rejects synonyms of the glossary's terms (ARCHITECTURE.md) in comments, messages, test titles,
 * documents and the identifiers of the sources. Prints one line for each and exits non-zero if there is one.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { findBannedNames, findBannedWords } from './words/find-banned-words.ts';

const ROOT = join(import.meta.dirname, '..');
const PLACES = [
  'src',
  'test',
  'scripts',
  'bench',
  'studio',
  'docs',
  'README.md',
  'SPEC.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
];
const NOT_OURS = new Set(['node_modules', 'fixtures']);
const problems = PLACES.flatMap((place) => filesIn(join(ROOT, place)))
  .map((file) => relative(ROOT, file))
  .flatMap((path) => {
    const content = readFileSync(join(ROOT, path), 'utf8');
    return [...findBannedWords(path, content), ...findBannedNames(path, content)];
  });
for (const problem of problems) console.log(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

function filesIn(path: string): readonly string[] {
  if (!statSync(path).isDirectory()) return /\.(?:tsx?|md)$/.test(path) ? [path] : [];
  return readdirSync(path).flatMap((name) => (NOT_OURS.has(name) ? [] : filesIn(join(path, name))));
}
