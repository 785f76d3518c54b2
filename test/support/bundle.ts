import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'vite';

/**
 * Bundles a script that is started as a process many times, so that a start takes a tenth of the time. `external` packages are
 * loaded as they are.
 */
export async function bundleScript(
  script: string,
  external: readonly string[] = [],
): Promise<{ readonly path: string; remove(): void }> {
  const root = join(import.meta.dirname, '..', '..');
  const cache = join(root, 'node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  const outDir = mkdtempSync(join(cache, 'holdfast-'));
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true, external: [...external] },
    build: { ssr: script, outDir, emptyOutDir: true, minify: false },
  });
  const path = join(outDir, basename(script).replace(/\.ts$/, '.js'));
  return { path, remove: () => rmSync(outDir, { recursive: true, force: true }) };
}
