const UNSEEDED = /\bMath\.random\(|\bseed = Date\.now\(/;

/** Tests whose random choices cannot be repeated: they must come from `test/support/random.ts`, whose seed every run prints. */
export function unseededTests(sources: ReadonlyMap<string, string>): readonly string[] {
  return Array.from(sources)
    .filter(([path, source]) => path.startsWith('test/') && !ABOUT_SOURCES.has(path) && UNSEEDED.test(source))
    .map(([path]) => path);
}

/** Tests of rules about sources, which contain what the rules forbid. */
const ABOUT_SOURCES: ReadonlySet<string> = new Set(['test/architecture.test.ts', 'test/structure.test.ts']);
