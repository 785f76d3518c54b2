/** `holdfast studio`: Studio in the browser, for a database or for the transcripts of other agents. */
import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { HoldfastError } from '../core/errors.ts';
import { sqliteStore } from '../stores/sqlite/sqlite-store.ts';
import type { Command } from './main.ts';
import { printableLine } from './printable.ts';
import { databaseFor, importFolders } from './studio/import-folders.ts';
import { PLACE_OPTIONS, PLACE_USAGE, placeOf, serveStudio } from './studio/serve-studio.ts';
import { endBy, waitForSignal } from './studio/until-signal.ts';

export const studio: Command = {
  usage: `holdfast studio [<database> | <folder>] [--port n] [--host name] [--token text] [--no-open]

Serves Studio on this machine and opens it in the browser, until Ctrl+C.

  <database>     a Holdfast database: watch its sessions, approve, settle, send messages. The agents run elsewhere
  <folder>       imports the transcripts in it into a database of their own and follows them; they are only read
  (nothing)      the same for the usual folders of Claude Code, Codex and OpenCode

${PLACE_USAGE}

Imports are stored in ~/.holdfast, or in the directory that HOLDFAST_HOME names.`,
  async run(args) {
    const { values, positionals } = parseArgs({ args: [...args], options: PLACE_OPTIONS, allowPositionals: true });
    if (positionals.length > 1) {
      throw new HoldfastError('INVALID_ARGUMENT', `one database or folder, not ${positionals.length}`);
    }
    const place = placeOf(values);
    const source = sourceOf(positionals[0]);
    const isImport = source.kind === 'folder';
    const store = await sqliteStore(source.file, { readOnly: !isImport && !isWritable(source.file) });
    const wait = waitForSignal();
    try {
      const file = printableLine(source.file);
      if (isImport) {
        const what = source.folder === undefined ? 'Claude Code, Codex and OpenCode' : printableLine(source.folder);
        console.log(`Transcripts of ${what} are imported into ${file}; the originals are only read.`);
      }
      const remark = isImport ? {} : { remark: `shows ${file}; Ctrl+C ends it` };
      const { server } = await serveStudio({ store }, place, remark);
      const importing = isImport ? importFolders(store, source.folder, wait.aborted) : undefined;
      await wait.signal;
      await server.close({ graceMs: 0 });
      await importing;
    } finally {
      await store.close();
      wait.release();
    }
    return endBy(await wait.signal);
  },
};

/** What Studio shows: a database, or the transcripts of a folder (of the usual ones, if it is undefined). */
type Source =
  | { readonly kind: 'database'; readonly file: string }
  | { readonly kind: 'folder'; readonly folder: string | undefined; readonly file: string };

function sourceOf(given: string | undefined): Source {
  if (given === undefined) return { kind: 'folder', folder: undefined, file: databaseFor(undefined) };
  const path = resolve(given);
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) throw new HoldfastError('INVALID_ARGUMENT', `there is no database and no folder ${path}`);
  if (found.isDirectory()) return { kind: 'folder', folder: path, file: databaseFor(path) };
  if (found.size === 0)
    throw new HoldfastError('INVALID_ARGUMENT', `${path} is empty; name a Holdfast database or a folder`);
  return { kind: 'database', file: path };
}

function isWritable(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
