/** Finds what says on which machine a package was made: folders of the machine, and the registry that it installs from. */

/** What a machine is recognised by. */
export interface Machine {
  /** Absolute paths: of the clone, of the home. */
  readonly folders: readonly string[];
  /** Host names, such as that of the registry. */
  readonly hosts: readonly string[];
}

/** What of the machine a text names. */
export function findLeaks(text: string, { folders, hosts }: Machine): readonly string[] {
  return [...folders.filter(isTelling), ...hosts].filter((name) => name !== '' && text.includes(name));
}

/** A folder right below the root, such as `/root`, is that of many machines, and stands in texts about paths. */
function isTelling(folder: string): boolean {
  return folder.split(/[\\/]/).filter((part) => part !== '' && !part.endsWith(':')).length > 1;
}

/** The addresses that a lock file names. It should name none: every machine installs from its own registry. */
export function addressesIn(lock: string): readonly string[] {
  const { packages = {} } = JSON.parse(lock) as {
    readonly packages?: Readonly<Record<string, { readonly resolved?: string }>>;
  };
  return Object.values(packages).flatMap(({ resolved }) =>
    resolved !== undefined && /^[a-z+]+:/.test(resolved) ? [resolved] : [],
  );
}
