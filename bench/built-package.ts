import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** The directory of the built package. Builds it first if it is missing or older than its sources. */
export function builtPackage(): string {
  const dist = join(root, 'dist');
  const built = join(dist, 'index.js');
  if (!existsSync(built) || statSync(built).mtimeMs < lastChange()) {
    execFileSync(process.execPath, [join(root, 'scripts', 'build.ts')], { cwd: root, stdio: 'inherit' });
  }
  return dist;
}

function lastChange(): number {
  const times = ['src', 'scripts'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs),
  );
  return Math.max(...times);
}
