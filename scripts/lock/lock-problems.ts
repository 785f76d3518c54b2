/** What is wrong with the lock files, each with what to do about it. */
import { addressesWithHost } from './addresses-with-host.ts';
import type { LockedPackages } from './locked-packages.ts';
import { type MissingPlatform, missingPlatforms } from './missing-platforms.ts';

/**
 * Packages that may lack platforms, by lock file: the registry has no version of theirs with all of them. Such a file is not
 * installed with `npm ci` (`scripts/test-agents.ts`).
 */
const EXCUSED: Readonly<Record<string, readonly string[]>> = {
  'test/agents/package-lock.json': ['node_modules/opencode-ai'],
};

/** One line for each problem of these lock files. */
export function lockProblems(locks: ReadonlyMap<string, LockedPackages>): readonly string[] {
  return [...locks].flatMap(([file, packages]) => {
    const excused = EXCUSED[file] ?? [];
    const missing = missingPlatforms(packages);
    return [
      ...missing.filter(({ path }) => !excused.includes(path)).map((platform) => missingLine(file, packages, platform)),
      ...excused
        .filter((path) => !missing.some((platform) => platform.path === path))
        .map((path) => `${file}: ${path} lacks no platform; remove it from EXCUSED in scripts/lock/lock-problems.ts`),
      ...addressesWithHost(packages).map(
        ({ path, address }) =>
          `${file}: ${path} has the address ${address}; remove its "resolved", and set omit-lockfile-registry-resolved=true in the .npmrc beside the file`,
      ),
    ];
  });
}

function missingLine(file: string, packages: LockedPackages, { path, name, wanted }: MissingPlatform): string {
  const needs = `${path || 'package.json'} ${packages[path]?.version ?? ''}`.trimEnd();
  return (
    `${file}: ${needs} has the optional dependency ${name} ${wanted}, for which there is no entry with this version and an ` +
    'integrity, so npm ci rejects the file. Run npm install --package-lock-only; if that does not add the entry, the registry ' +
    'lacks it: pin the newest version below that has the packages of every platform'
  );
}
