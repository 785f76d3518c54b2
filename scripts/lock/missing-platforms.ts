/** Optional dependencies that a lock file lacks: programs of other platforms, without which `npm ci` rejects the file. */
import type { LockedPackage, LockedPackages } from './locked-packages.ts';

/** An optional dependency of a locked package that has no complete entry. */
export interface MissingPlatform {
  /** The entry of the package that needs it. */
  readonly path: string;
  readonly name: string;
  /** The version, range or alias that the package at `path` asks for. */
  readonly wanted: string;
}

/** The optional dependencies without an entry that has the version asked for and an integrity. */
export function missingPlatforms(packages: LockedPackages): readonly MissingPlatform[] {
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name, wanted]) => !isComplete(entryOf(name, path, packages), wanted))
      .map(([name, wanted]) => ({ path, name, wanted })),
  );
}

/** The entry that the package at `path` loads as `name`: the nearest one, as Node looks for it. */
function entryOf(name: string, path: string, packages: LockedPackages): LockedPackage | undefined {
  const parts = path === '' ? [] : path.split('/');
  for (let length = parts.length; length >= 0; length -= 1) {
    const entry = packages[[...parts.slice(0, length), 'node_modules', name].join('/')];
    if (entry !== undefined) return entry;
  }
  return undefined;
}

function isComplete(entry: LockedPackage | undefined, wanted: string): boolean {
  if (entry?.link === true || entry?.inBundle === true) return true;
  if (entry?.version === undefined || entry.integrity === undefined) return false;
  // The nearest entry may be of another version: the right one was nested, and is what is missing. Programs of a platform are
  // asked for by their exact version; a range is not compared.
  const exact = /^(?:npm:.+@)?(\d+\.\d+\.\d+\S*)$/.exec(wanted)?.[1];
  return exact === undefined || exact === entry.version;
}
