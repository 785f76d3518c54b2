export interface FolderSize {
  /** With a slash at its end; a file at the root is itself. */
  readonly folder: string;
  readonly count: number;
  readonly bytes: number;
}

const DEPTH = 2;

/** How much is in each folder, by path. Folders below the second level count as part of that. */
export function folderSizes(
  files: readonly { readonly path: string; readonly bytes: number }[],
): readonly FolderSize[] {
  return [...Map.groupBy(files, ({ path }) => folderOf(path))]
    .map(([folder, inside]) => ({
      folder,
      count: inside.length,
      bytes: inside.reduce((sum, { bytes }) => sum + bytes, 0),
    }))
    .toSorted((a, b) => (a.folder < b.folder ? -1 : 1));
}

function folderOf(path: string): string {
  const folders = path.split('/').slice(0, -1);
  return folders.length === 0 ? path : `${folders.slice(0, DEPTH).join('/')}/`;
}
