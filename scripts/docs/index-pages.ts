import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** A page as the index (docs/README.md) lists it. */
export interface IndexedPage {
  readonly section: string;
  readonly title: string;
  /** Its path from the root of the repository. */
  readonly path: string;
  /** The question that a reader has. */
  readonly question: string;
}

const ENTRY = /^(?:## (?<section>.+)|- \[(?<title>[^\]]+)\]\((?<link>[^)]+)\): (?<question>.+))$/gm;

/** The pages of the index, in its order. */
export function indexedPages(root: string): readonly IndexedPage[] {
  let section = '';
  const pages: IndexedPage[] = [];
  for (const { groups = {} } of readFileSync(join(root, 'docs/README.md'), 'utf8').matchAll(ENTRY)) {
    section = groups.section ?? section;
    const { title, link, question } = groups;
    if (title && link && question) pages.push({ section, title, path: posix.join('docs', link), question });
  }
  return pages;
}
