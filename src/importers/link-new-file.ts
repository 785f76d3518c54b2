import { constants } from 'node:fs';
import { copyFile, link } from 'node:fs/promises';

/** Errors of file systems that have no hard links. */
const NO_LINKS: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** Gives a complete file its name. A link, unlike a rename, fails when the name is taken: with `EEXIST`. */
export async function linkNewFile(complete: string, path: string): Promise<void> {
  await link(complete, path).catch(async (error: NodeJS.ErrnoException) => {
    if (!NO_LINKS.has(error.code)) throw error;
    await copyFile(complete, path, constants.COPYFILE_EXCL);
  });
}
