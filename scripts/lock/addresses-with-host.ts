import type { LockedPackages } from './locked-packages.ts';

/** The entries whose address names a host: npm would request the package there, whatever registry the user has configured. */
export function addressesWithHost(
  packages: LockedPackages,
): readonly { readonly path: string; readonly address: string }[] {
  return Object.entries(packages).flatMap(([path, { resolved }]) =>
    resolved !== undefined && URL.parse(resolved)?.host ? [{ path, address: resolved }] : [],
  );
}
