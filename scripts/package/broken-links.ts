import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** The relative links in the Markdown files of a directory whose file or heading does not exist. */
export function brokenLinks(root: string, files: readonly string[]): readonly string[] {
  return files
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) =>
      linksIn(readFileSync(join(root, file), 'utf8'))
        .filter((link) => !leadsSomewhere(root, join(root, file), link))
        .map((link) => `${file}: the link ${link} leads to nothing that is shipped`),
    );
}

const LINK = /\]\(([^)\s]+)\)/g;

function linksIn(markdown: string): readonly string[] {
  const prose = markdown.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '');
  return Array.from(prose.matchAll(LINK), ([, link = '']) => link).filter((link) => !/^[a-z]+:/.test(link));
}

function leadsSomewhere(root: string, from: string, link: string): boolean {
  const [path = '', heading] = link.split('#');
  const target = path === '' ? from : join(dirname(from), path);
  if (relative(root, target).startsWith('..') || !existsSync(target)) return false;
  return heading === undefined || headingsIn(readFileSync(target, 'utf8')).includes(heading);
}

/** The ids of headings on GitHub and npm. */
function headingsIn(markdown: string): readonly string[] {
  return Array.from(markdown.matchAll(/^#+ +(.+)$/gm), ([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );
}
