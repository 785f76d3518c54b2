/** The pages are complete: the index lists each, generated ones are up to date, every export is documented and mentioned, links lead somewhere. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { codeIn, ENTRIES, generatedPages, mentionsIn } from '../../scripts/docs/generated-pages.ts';
import { indexedPages } from '../../scripts/docs/index-pages.ts';
import { publicEntries } from '../../scripts/docs/public-exports.ts';
import { brokenLinks } from '../../scripts/package/broken-links.ts';
import { pages, ROOT, readPage } from '../support/documents.ts';

const generated = await generatedPages(ROOT);
const entries = await publicEntries();

test.for(Object.keys(generated))('%s is up to date; npm run docs writes it', (path) => {
  expect(readFileSync(join(ROOT, path), 'utf8') === generated[path]).toBe(true);
});

test('the index lists every page of docs once', () => {
  const listed = indexedPages(ROOT).map(({ path }) => path);
  const there = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md') && name !== 'README.md');
  expect(listed.filter((path) => path.startsWith('docs/')).toSorted()).toEqual(
    there.map((name) => `docs/${name}`).toSorted(),
  );
});

/** The entries that package.json exports. */
function exportedEntries(): readonly string[] {
  const { exports } = JSON.parse(readPage('package.json')) as { readonly exports: Readonly<Record<string, unknown>> };
  const named = Object.keys(exports).filter((path) => !path.endsWith('.json'));
  return named.map((path) => path.replace('.', 'holdfast')).toSorted();
}

test('every entry of the package is in the reference', () => {
  expect(entries.map(({ entry }) => entry).toSorted()).toEqual(exportedEntries());
});

test('the reference, llms.txt and the table of docs/install.md list every entry of the package, in one order', () => {
  const inOrder = Object.keys(ENTRIES);
  expect(inOrder.toSorted()).toEqual(exportedEntries());
  const rows = Array.from(readPage('docs/install.md').matchAll(/^\| `(holdfast[\w/-]*)` \|/gm), ([, entry]) => entry);
  expect(rows).toEqual(inOrder);
  const sections = Array.from(readPage('docs/reference.md').matchAll(/^## `(.+)`$/gm), ([, entry]) => entry);
  expect(sections).toEqual(inOrder);
  const [, listed = ''] = /Entries: (.+)\.$/m.exec(readPage('llms.txt')) ?? [];
  expect(listed.split(', ').map((code) => code.replaceAll('`', ''))).toEqual(inOrder);
});

test('every public export has a sentence of TSDoc', () => {
  const missing = entries.flatMap(({ entry, exports }) =>
    exports.filter(({ summary }) => summary === '').map(({ name }) => `${entry}: ${name}`),
  );
  expect(missing).toEqual([]);
});

test('every function, class and constant is mentioned in a page that a person wrote', () => {
  const written = pages().filter((page) => !(page in generated) && page !== 'docs/decisions.md');
  const code = written.map((page) => codeIn(readPage(page))).join('\n');
  const missing = entries.flatMap(({ entry, exports }) =>
    exports
      .filter(({ kind, name }) => kind !== 'type' && mentionsIn(code, name) === 0)
      .map(({ name }) => `${entry}: ${name}`),
  );
  expect(missing).toEqual([]);
});

test('every link between pages leads to a file and a heading', () => {
  expect(brokenLinks(ROOT, pages())).toEqual([]);
});

test('every link of llms.txt leads to a file that the package ships', () => {
  const { files } = JSON.parse(readPage('package.json')) as { readonly files: readonly string[] };
  const shipped = new Set(['README.md', ...files]);
  const links = Array.from(readPage('llms.txt').matchAll(/\]\(([^)]+)\)/g), ([, link = '']) => link);
  expect(links.length).toBeGreaterThan(20);
  expect(links.filter((link) => !shipped.has(link) && !shipped.has(link.split('/', 1)[0] ?? ''))).toEqual([]);
});
