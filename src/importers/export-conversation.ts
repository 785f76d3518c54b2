import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { HoldfastError } from '../core/errors.ts';
import {
  type DocumentRenderer,
  type ExportedConversation,
  type ExportOptions,
  type ExportSource,
  exportWith,
} from '../transcripts/export/export-with.ts';

/** Exports a conversation. Throws `INVALID_ARGUMENT` for a format that is not known, and for a value that is no conversation. */
export function exportConversation(source: ExportSource, options: ExportOptions): ExportedConversation {
  return exportWith((state, head) => loadRenderer()(state, head), source, options);
}

let loaded: DocumentRenderer | undefined;

/**
 * Studio's renderer of documents, loaded when the first one is written: `dist/studio/document.js` of the package. From the sources of a clone it
 * is built on demand, in a process of its own, since an export is synchronous and a build is not. Throws `RUNTIME_UNSUPPORTED` if its file is not
 * beside this one.
 */
function loadRenderer(): DocumentRenderer {
  loaded ??= (createRequire(import.meta.url)(rendererFile()) as { readonly renderDocument: DocumentRenderer })
    .renderDocument;
  return loaded;
}

function rendererFile(): string {
  const { url, dirname } = import.meta;
  if (url.endsWith('.ts')) return builtFromSources(new URL('../../studio/build.ts', url).href);
  const found = ['studio', '../studio'].map((folder) => join(dirname, folder, 'document.js')).find(existsSync);
  if (found !== undefined) return found;
  throw new HoldfastError(
    'RUNTIME_UNSUPPORTED',
    `HTML is written by studio/document.js of holdfast, which is not beside ${dirname}; a bundler must leave holdfast external`,
  );
}

function builtFromSources(build: string): string {
  const program = `const { documentOfSources } = await import(${JSON.stringify(build)}); console.log(await documentOfSources());`;
  const output = execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', program], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return output.trim().split('\n').at(-1) ?? '';
}
