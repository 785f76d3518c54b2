/** The pages that are made from others: `npm run docs` writes them, and a test compares them. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type IndexedPage, indexedPages } from './index-pages.ts';
import { type PublicEntry, type PublicExport, publicEntries } from './public-exports.ts';

const REFERENCE = 'docs/reference.md';
/** The entries in the order of docs/install.md, each with the page that explains most of it. */
export const ENTRIES: Readonly<Record<string, string>> = {
  holdfast: '',
  'holdfast/evaluate': 'docs/evaluate.md',
  'holdfast/sqlite': 'docs/storage.md',
  'holdfast/postgres': 'docs/postgres.md',
  'holdfast/history': 'docs/history.md',
  'holdfast/inspect': 'docs/history.md',
  'holdfast/conversation': 'docs/conversation.md',
  'holdfast/transcripts': 'docs/transcripts.md',
  'holdfast/claude-agent': 'docs/agents.md',
  'holdfast/opencode': 'docs/agents.md',
  'holdfast/server': 'docs/server.md',
  'holdfast/react': 'docs/react.md',
  'holdfast/worker': 'docs/workers.md',
  'holdfast/agent': 'docs/agents.md',
  'holdfast/store': 'docs/writing-a-store.md',
  'holdfast/testing': 'docs/testing.md',
};

/** Their texts, by path. */
export async function generatedPages(root: string): Promise<Readonly<Record<string, string>>> {
  const pages = indexedPages(root);
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  const prose = pages.filter(({ path }) => path !== REFERENCE && existsSync(join(root, path)));
  const reference = referencePage(await publicEntries(), [
    ...prose.map(({ path, title }) => ({ path, title, code: codeIn(read(path)) })),
  ]);
  const summary =
    /^\*\*(.+?)\*\* ([\s\S]+?)\n\n/m.exec(read('README.md'))?.slice(1).join(' ').replaceAll('\n', ' ') ?? '';
  return {
    [REFERENCE]: reference,
    'llms.txt': llmsText(summary, pages),
    'llms-full.txt': fullText(summary, pages, (path) => (path === REFERENCE ? reference : read(path))),
  };
}

/** What a page says in code: its fences and code spans. Words of the prose that are also names are not mentions. */
export function codeIn(page: string): string {
  return Array.from(page.matchAll(/^```[\s\S]*?^```$|`[^`\n]+`/gm), ([code]) => code).join('\n');
}

/** How often a code text holds a name as a whole word. */
export function mentionsIn(code: string, name: string): number {
  return Array.from(code.matchAll(new RegExp(`(?<![\\w$])${name}(?![\\w$])`, 'g'))).length;
}

interface Prose {
  readonly path: string;
  readonly title: string;
  readonly code: string;
}

function referencePage(entries: readonly PublicEntry[], prose: readonly Prose[]): string {
  const order = (entry: string): number => Object.keys(ENTRIES).indexOf(entry);
  const sections = entries
    .toSorted((a, b) => order(a.entry) - order(b.entry))
    .map(({ entry, exports }) => {
      // The entry's own page explains what it mentions, however often others do.
      const own = prose.filter(({ path }) => path === ENTRIES[entry]);
      const values = exports.filter(({ kind }) => kind !== 'type');
      const types = exports.filter(({ kind }) => kind === 'type');
      return [
        `## \`${entry}\``,
        ...(values.length > 0 ? [table(values, own, prose)] : []),
        ...(types.length > 0 ? [`### Types of \`${entry}\``, table(types, own, prose)] : []),
      ].join('\n\n');
    });
  return `# Reference

Every export of every entry, the first sentence of its documentation, and the page that explains it. The types that your editor shows have
the rest. This page is generated from the sources (\`npm run docs\`).

${sections.join('\n\n')}
`;
}

function table(exports: readonly PublicExport[], own: readonly Prose[], prose: readonly Prose[]): string {
  const rows = exports.map(({ name, summary }) => {
    const page = explaining(own, name) ?? explaining(prose, name);
    const link = page
      ? `[${page.title}](${page.path.startsWith('docs/') ? page.path.slice(5) : `../${page.path}`})`
      : '';
    return `| \`${name}\` | ${summary.replaceAll('|', '\\|')} | ${link} |`;
  });
  return ['| export | what it is | explained in |', '| --- | --- | --- |', ...rows].join('\n');
}

/** The page that mentions a name most often; of two, the first. */
function explaining(prose: readonly Prose[], name: string): Prose | undefined {
  const mentions = prose.map(({ code }) => mentionsIn(code, name));
  const most = Math.max(...mentions);
  return most === 0 ? undefined : prose[mentions.indexOf(most)];
}

/** The index by the convention of llms.txt: title, summary, links with one line each. */
function llmsText(summary: string, pages: readonly IndexedPage[]): string {
  const sections = [...Map.groupBy(pages, ({ section }) => section)].map(([section, listed]) => {
    const links = listed.map(({ title, path, question }) => `- [${title}](${path}): ${question}`);
    return `## ${section}\n\n${links.join('\n')}`;
  });
  return `# Holdfast

> ${summary}

Install: ${code('npm install holdfast')} (ESM, Node 22.23, 24.15 or 26, or newer in each line). Entries: ${Object.keys(ENTRIES).map(code).join(', ')}.
Everything below in one file: [llms-full.txt](llms-full.txt). The overview: [README.md](README.md).

${sections.join('\n\n')}
`;
}

/** A code span. */
function code(text: string): string {
  return `\`${text}\``;
}

/** README.md and every page of the index in one Markdown file. */
function fullText(summary: string, pages: readonly IndexedPage[], read: (path: string) => string): string {
  const parts = ['README.md', ...pages.map(({ path }) => path)].map(
    (path) => `---\n\nFile: ${path}\n\n${withoutContext(read(path)).trim()}\n`,
  );
  return `# Holdfast: all documentation in one file\n\n> ${summary}\n\n${parts.join('\n')}`;
}

/** Declarations that only the compiler needs are not for readers. */
function withoutContext(page: string): string {
  return page.replace(/<!-- context:(?:(?!-->)[\s\S])*-->\n/g, '');
}
