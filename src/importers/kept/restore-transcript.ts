/** Writes the original files of an imported session (D75). */
import { randomUUID } from 'node:crypto';
import { lstat, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import type { Store } from '../../ports/store.ts';
import { linkNewFile, makeFolder, writeError, writeSynced } from '../complete-file.ts';
import { bytesOf, type KeptFile, type KeptLog, readKept } from './kept-log.ts';
import { exportOfRows, readKeptRows } from './kept-rows.ts';
import { hashOf } from './record-appender.ts';

/** A file to be written. */
interface Target {
  readonly path: string;
  readonly write: (write: (bytes: Buffer) => Promise<void>) => Promise<void>;
}

/**
 * Writes the source of an imported session: its main file at `path` and its other files beside that, as the agent does. Rows are written as
 * JSON for `opencode import`. Returns the paths of the files. All of them are complete, or none is there; an existing file is never
 * overwritten.
 */
export async function restoreTranscript(store: Store, id: string, path: string): Promise<readonly string[]> {
  const log = await readKept(store, id);
  refuseIncomplete(log);
  const targets = log.source.layout === 'rows' ? rowTargets(log, path) : fileTargets(log, path);
  for (const target of targets) await refuseExisting(target.path);
  const written: string[] = [];
  const placed: string[] = [];
  try {
    for (const target of targets) {
      const folder = dirname(target.path);
      await makeFolder(folder);
      const file = join(folder, `.${basename(target.path)}.${randomUUID()}.tmp`);
      written.push(file);
      await writeSynced(file, (handle) => target.write((bytes) => handle.writeFile(bytes)));
    }
    for (const [i, target] of targets.entries()) {
      await linkNewFile(written[i] as string, target.path, exists(target.path));
      placed.push(target.path);
    }
  } catch (error) {
    for (const file of placed) await rm(file, { force: true });
    throw writeError(dirname(path), error);
  } finally {
    for (const file of written) await rm(file, { force: true }).catch(() => {}); // its folder may be none
  }
  return placed.toReversed();
}

function refuseIncomplete({ id, source, files }: KeptLog): void {
  const batches = [...files.values()].flatMap((file) => file.batches);
  const why =
    batches.some(({ redacted }) => redacted) || source?.redacted
      ? 'redacted when they were imported'
      : batches.some(({ erased }) => erased) || source?.erased
        ? 'erased'
        : undefined;
  if (why === undefined) return;
  throw new HoldfastError('SOURCE_INCOMPLETE', `session ${id} cannot be restored: some of its records were ${why}`);
}

/** The files, the main one last: it is there when all are. */
function fileTargets(log: KeptLog, path: string): readonly Target[] {
  const files = [...log.files.values()];
  const main = files.find(({ role }) => role === 'main');
  if (!main) throw missing(log.id, 'its main file');
  const others = files.filter((file) => file !== main);
  return [
    ...others.map((file) => ({ path: placeOf(log.id, file, main, path), write: fileWriter(log, file) })),
    { path, write: fileWriter(log, main) },
  ];
}

/** Where a file belongs beside the main file. Its folder is named after the main file, which may have another name now. */
function placeOf(id: string, { name }: KeptFile, main: KeptFile, path: string): string {
  const parts = name.split('/');
  if (
    parts.some((part) => part === '' || part === '.' || part === '..' || part.includes('\\') || part.includes('\0'))
  ) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `session ${id} names a file ${JSON.stringify(name)}, which is not below its folder`,
    );
  }
  const stem = (file: string): string => basename(file).replace(/\.[^.]*$/, '');
  if (parts.length > 1 && parts[0] === stem(main.name)) parts[0] = stem(path);
  return join(dirname(path), ...parts);
}

function fileWriter(log: KeptLog, file: KeptFile): Target['write'] {
  return async (write) => {
    let end = 0;
    for (const batch of file.batches) {
      const bytes = await bytesOf(log, batch);
      if (batch.offset !== end || hashOf(bytes) !== batch.hash) throw missing(log.id, `${file.name} at byte ${end}`);
      await write(bytes);
      end += bytes.length;
    }
  };
}

function rowTargets(log: KeptLog, path: string): readonly Target[] {
  const files = [...log.files.values()].sort((a, b) => Number(a.role === 'main') - Number(b.role === 'main'));
  return files.map((file) => ({
    path: file.role === 'main' ? path : placeOf(log.id, { ...file, name: `children/${file.name}.json` }, file, path),
    write: async (write) => {
      await write(Buffer.from(`${JSON.stringify(exportOfRows(await readKeptRows(log, file)), null, 2)}\n`));
    },
  }));
}

async function refuseExisting(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found) throw exists(path);
}

function exists(path: string): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', `${path} exists; name a file that does not, nothing is overwritten`);
}

function missing(id: string, what: string): HoldfastError {
  return new HoldfastError(
    'SOURCE_INCOMPLETE',
    `session ${id} cannot be restored: ${what} was not recorded completely`,
  );
}
