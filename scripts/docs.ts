/** `npm run docs`: writes the pages that are made from the sources and from other pages. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedPages } from './docs/generated-pages.ts';

const root = join(import.meta.dirname, '..');
for (const [path, text] of Object.entries(await generatedPages(root))) {
  writeFileSync(join(root, path), text);
  console.log(`${path}: ${text.length} characters`);
}
