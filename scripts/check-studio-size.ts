/**
 * A step of `npm run check`: everything that Studio loads to show a conversation, gzipped, has at most 350 kB. Colours for code are loaded
 * later, and are not counted.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const MAX_BYTES = 350_000;
const FIRST = ['index.html', 'src/conversation/conversation-view.tsx'];
const directory = join(import.meta.dirname, '../dist/studio');

interface Chunk {
  readonly file: string;
  readonly css?: readonly string[];
  readonly imports?: readonly string[];
}

const chunks = JSON.parse(readFileSync(join(directory, '.vite/manifest.json'), 'utf8')) as Record<string, Chunk>;
const files = new Set(['index.html']);
const add = (name: string): void => {
  const chunk = chunks[name];
  if (!chunk) throw new Error(`the build of Studio has no ${name}`);
  if (files.has(chunk.file)) return;
  for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file);
  for (const next of chunk.imports ?? []) add(next);
};
for (const name of FIRST) add(name);

const sizes = [...files].map((file) => gzipSync(readFileSync(join(directory, file)), { level: 9 }).length);
const total = sizes.reduce((sum, size) => sum + size, 0);
console.log(`Studio loads ${files.size} files first, ${total} bytes gzipped`);
if (total > MAX_BYTES) {
  console.error(`Studio loads ${total} bytes first, more than ${MAX_BYTES}`);
  process.exitCode = 1;
}
