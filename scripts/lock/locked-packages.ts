/** What the checks read of one entry of a lock file. */
export interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  /** Only packages that name it as optional need it. */
  readonly optional?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  /** Its files are in the archive of the package above it, whose integrity covers them. */
  readonly inBundle?: boolean;
  /** A workspace: `resolved` is its folder. */
  readonly link?: boolean;
}

/** The entries of a lock file, by the folder that npm installs each into. */
export type LockedPackages = Readonly<Record<string, LockedPackage>>;
