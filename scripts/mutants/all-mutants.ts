import { CORE_MUTANTS } from './core-mutants.ts';
import { LOOP_MUTANTS } from './loop-mutants.ts';
import type { ListedMutant, Mutant, MutantTier } from './mutant.ts';
import { POSTGRES_MUTANTS } from './postgres-mutants.ts';
import { SESSION_MUTANTS } from './session-mutants.ts';
import { SQLITE_MUTANTS } from './sqlite-mutants.ts';
import { STORE_MUTANTS } from './store-mutants.ts';
import { VIEW_MUTANTS } from './view-mutants.ts';

/** All mutants, in the order in which they run. */
export const ALL_MUTANTS: readonly Mutant[] = [
  ...[CORE_MUTANTS, SESSION_MUTANTS, LOOP_MUTANTS, STORE_MUTANTS, SQLITE_MUTANTS, VIEW_MUTANTS].flatMap((list) =>
    ofTier(list, 'fast'),
  ),
  ...ofTier(POSTGRES_MUTANTS, 'postgres'),
];

function ofTier(mutants: readonly ListedMutant[], tier: MutantTier): readonly Mutant[] {
  return mutants.map((mutant) => ({ ...mutant, tier }));
}
