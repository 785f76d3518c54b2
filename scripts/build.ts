/**
 * `npm run build`: src/ to dist/. Declarations come from tsc, one per source file. JavaScript is bundled into one file per
 * entry and shared chunks: Node loads a dozen files faster than three hundred. Nothing is minified and TSDoc comments stay in the
 * declarations, so stack traces are readable without source maps. Studio is bundled for browsers into
 * dist/studio, and its renderer of exported files for Node beside it.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';
import { buildDocument, buildStudio } from '../studio/build.ts';
import { SharedChunks } from './package/shared-chunks.ts';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');

/** The public entries, and the files of the command and the demo that are started, or that find other files, by their path. */
const entries = [
  ...readdirSync(join(root, 'src')).filter((name) => name.endsWith('.ts')),
  ...['cli/holdfast.ts', 'cli/main.ts', '../examples/demo/demo.ts', '../examples/demo/agent.ts'],
];

const chunks = new SharedChunks((entry) => join(root, 'src', `${entry}.ts`));
rmSync(dist, { recursive: true, force: true });
execFileSync('tsc', ['-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
const { output } = await build({
  cwd: root,
  input: Object.fromEntries(entries.map((entry) => [entry.replace(/^\.\.\/|\.ts$/g, ''), join('src', entry)])),
  platform: 'node',
  external: /^[^./]/, // every package, and Node's own modules
  plugins: [chunks.plugin],
  output: {
    dir: dist,
    chunkFileNames: 'chunks/[name]-[hash].js',
    codeSplitting: { groups: chunks.groups },
    comments: { annotation: true, jsdoc: false, legal: true },
  },
});
await buildStudio(join(dist, 'studio'));
await buildDocument(join(dist, 'studio'));
console.log(`built dist: ${entries.length} entries, ${output.length} JavaScript files`);
