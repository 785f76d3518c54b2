import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Makes a folder and those above it that are missing. Node's recursive `mkdir` never returns where a system says of a new folder that it
 * does not exist, as Linux does in `/proc`.
 */
export async function makeFolder(path: string, options: { readonly mode?: number } = {}): Promise<void> {
  const missing: string[] = [];
  for (let folder = resolve(path); !(await exists(folder)); folder = dirname(folder)) {
    missing.push(folder);
    if (folder === dirname(folder)) break;
  }
  for (const folder of missing.reverse()) {
    await mkdir(folder, options).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error; // another process made it
    });
  }
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
