/** `holdfast studio`: Studio in the browser, for a database or for the transcripts of other agents. */
import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs, styleText } from 'node:util';
import { HoldfastError } from '../core/errors.ts';
import { type SqliteStore, sqliteStore } from '../stores/sqlite/sqlite-store.ts';
import type { Command } from './main.ts';
import { printableLine } from './printable.ts';
import { StatusLine } from './status-line.ts';
import { databaseFor, importFolders } from './studio/import-folders.ts';
import { canOpenBrowser, openBrowser } from './studio/open-browser.ts';
import { PLACE_OPTIONS, PLACE_USAGE, type Place, placeOf } from './studio/place.ts';
import { type ServedStudio, STARTING, serveStudio } from './studio/serve-studio.ts';
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
    const store = await openStore(source);
    const wait = waitForSignal();
    try {
      const served = await announced(store, source, place);
      if (!values['no-open'] && canOpenBrowser()) openBrowser(served.address());
      const importing = source.kind === 'folder' ? importFolders(store, source.folder, wait.aborted) : undefined;
      await wait.signal;
      await served.server.close({ graceMs: 0 });
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

async function openStore({ kind, file }: Source): Promise<SqliteStore> {
  return sqliteStore(file, { readOnly: kind === 'database' && !isWritable(file) });
}

function isWritable(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Serves Studio and prints where it is. */
async function announced(store: SqliteStore, source: Source, place: Place): Promise<ServedStudio> {
  const file = printableLine(source.file);
  if (source.kind === 'folder') {
    const what = source.folder === undefined ? 'Claude Code, Codex and OpenCode' : printableLine(source.folder);
    console.log(`Transcripts of ${what} are imported into ${file}; the originals are only read.`);
  }
  const line = new StatusLine();
  line.show(STARTING);
  const served = await serveStudio({ store }, place).finally(() => line.clear());
  const about = source.kind === 'database' ? `shows ${file}; ` : '';
  console.log(
    `${styleText('bold', 'Studio')} ${styleText('cyan', served.address())} ${styleText('dim', `(${about}Ctrl+C ends it)`)}`,
  );
  if (served.network !== undefined) console.log(`  for other machines: ${served.network}`);
  return served;
}
