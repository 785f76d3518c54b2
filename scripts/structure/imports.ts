/** One import or re-export of a module. */
export interface Import {
  readonly from: string;
  /** The import is erased before the module runs. `import { type A }` is not: its module is still loaded. */
  readonly typeOnly: boolean;
}

const IMPORT =
  /^\s*(?:import|export)\s+(type\s)?[^;'"]*?from\s*['"]([^'"]+)['"]|^\s*import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm;

/** The imports, re-exports and dynamic imports of a TypeScript source. */
export function importsOf(source: string): readonly Import[] {
  return Array.from(source.matchAll(IMPORT), ([, type, from, bare, dynamic]) => ({
    from: from ?? bare ?? dynamic ?? '',
    typeOnly: type !== undefined,
  }));
}
