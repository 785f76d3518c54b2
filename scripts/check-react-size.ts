/**
 * A step of `npm run check`: `holdfast/react` adds at most 4 kB to `holdfast/conversation`, both minified and gzipped, and imports nothing
 * but React.
 */
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'rolldown';

const MAX_BYTES = 4000;
const source = join(import.meta.dirname, '../src');

const alone = await bundled("export * from './conversation.ts';");
const both = await bundled("export * from './conversation.ts'; export * from './react.ts';");
const added = both.bytes - alone.bytes;
const others = both.imports.filter((name) => name !== 'react');
console.log(`holdfast/conversation has ${alone.bytes} bytes, holdfast/react adds ${added}`);
if (added > MAX_BYTES) console.error(`holdfast/react adds ${added} bytes, more than ${MAX_BYTES}`);
if (others.length > 0) console.error(`holdfast/react imports ${others.join(', ')}; it may import only react`);
if (added > MAX_BYTES || others.length > 0) process.exitCode = 1;

async function bundled(code: string): Promise<{ readonly bytes: number; readonly imports: readonly string[] }> {
  const entry = join(source, 'measured.ts');
  const { output } = await build({
    input: entry,
    write: false,
    platform: 'browser',
    external: [/^react/, /^node:/],
    plugins: [
      {
        name: 'measured',
        resolveId: (id) => (id === entry ? id : undefined),
        load: (id) => (id === entry ? code : undefined),
      },
    ],
    output: { minify: true, comments: false },
  });
  const [chunk] = output;
  return { bytes: gzipSync(chunk.code, { level: 9 }).length, imports: chunk.imports };
}
