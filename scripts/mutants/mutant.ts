/** A change of one source that breaks a promise of the project, and the test files that must fail because of it. */
export interface Mutant {
  /** What is broken, as a sentence. */
  readonly name: string;
  /** The source, relative to the repository. */
  readonly file: string;
  /** A piece of the source that occurs once in it. */
  readonly find: string;
  readonly replace: string;
  /** The promise: an invariant of SPEC.md or a decision of docs/decisions.md. */
  readonly invariant: `I${number}` | `D${number}`;
  /** The files that protect it, relative to the repository. One failing test among them is enough. */
  readonly tests: readonly string[];
  /** How vitest is called for its tests. */
  readonly tier: MutantTier;
}

/** `postgres`: the tests need a PostgreSQL server. */
export type MutantTier = 'fast' | 'postgres';

/** A mutant as the lists have it: its tier is that of its list. */
export type ListedMutant = Omit<Mutant, 'tier'>;

/** The source with the change. Throws when the piece is not there exactly once: the list is older than the source. */
export function mutate(source: string, { name, file, find, replace }: Mutant): string {
  const [before, after, ...more] = source.split(find);
  if (before === undefined || after === undefined || more.length > 0) {
    const count = more.length + (after === undefined ? 0 : 1);
    throw new Error(`"${name}" cannot be applied: its piece of ${file} occurs ${count} times instead of once`);
  }
  return before + replace + after;
}
