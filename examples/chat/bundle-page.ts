import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';

/** Bundles a page for browsers. Inside the repository `holdfast` is its source. */
export async function bundlePage(page: string): Promise<string> {
  const source = join(import.meta.dirname, '../../src');
  const alias = Object.fromEntries(
    ['react', 'conversation'].map((entry) => [`holdfast/${entry}`, join(source, `${entry}.ts`)]),
  );
  const { output } = await build({
    input: join(import.meta.dirname, `${page}.tsx`),
    write: false,
    platform: 'browser',
    ...(existsSync(source) && { resolve: { alias } }),
    transform: { jsx: 'react-jsx', define: { 'process.env.NODE_ENV': '"development"' } },
  });
  return output[0].code;
}
