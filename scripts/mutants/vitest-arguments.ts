import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { MutantTier } from './mutant.ts';

const POSTGRES_CONFIG = 'test/postgres/vitest.config.ts';

/**
 * The arguments of vitest for some test files of a tree. One file after the other, without the checks of types. The tests of PostgreSQL
 * have a config of their own or are a project of the one at the root, whichever the tree has.
 */
export function vitestArguments(
  tree: string,
  { tests, tier, report, bail }: VitestRun,
): readonly [command: string, ...files: string[]] {
  return [
    join(tree, 'node_modules', 'vitest', 'vitest.mjs'),
    'run',
    ...(tier === 'postgres' ? postgresOptions(tree) : []),
    '--no-file-parallelism',
    '--typecheck.enabled=false',
    '--reporter=json',
    `--outputFile=${report}`,
    ...(bail ? ['--bail=1'] : []),
    ...tests.map((path) => join(tree, path)), // whole paths: vitest takes others as parts of a name
  ];
}

/** Which files are run, and how. */
export interface VitestRun {
  readonly tests: readonly string[];
  readonly tier: MutantTier;
  /** Where the report is written. */
  readonly report: string;
  /** Stop at the first failure. */
  readonly bail: boolean;
}

function postgresOptions(tree: string): readonly string[] {
  return existsSync(join(tree, POSTGRES_CONFIG)) ? ['--config', POSTGRES_CONFIG] : ['--project', 'postgres'];
}
