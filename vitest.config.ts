/**
 * The tiers of the tests, as projects. docs/testing-holdfast.md says which invariant each tier protects, and why it exists.
 *
 *     npm test          pure + fast         every push, at most 5 minutes on 2 cores
 *     npm run test:all  all of them         what CI runs
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

const root = import.meta.dirname;

/** Folders whose tests start no process, set no global and open no database: their files share one process and its loaded modules. */
const PURE = ['core', 'conversation', 'formats', 'history', 'transcripts', 'models', 'studio', 'scripts'];
/** Folders of the other tiers. */
const TIERS = ['agents', 'browser', 'chaos', 'postgres', 'runtimes'];

const testsIn = (folders: readonly string[]): string[] => folders.map((folder) => `test/${folder}/**/*.test.ts`);

interface Tier {
  /** Where the packages of the tests are, if they have their own. */
  readonly root?: string;
  readonly include: string[];
  readonly exclude?: string[];
  readonly globalSetup?: string[];
  readonly isolate?: boolean;
  readonly fileParallelism?: boolean;
  readonly testTimeout?: number;
  /** Settings that the tests of the tier read. */
  readonly env?: Readonly<Record<string, string>>;
}

function tier(name: string, { globalSetup = [], env = {}, ...test }: Tier): TestProjectInlineConfiguration {
  return {
    // The examples import the package by its name, as users do: here it is the sources.
    resolve: {
      alias: [
        { find: /^holdfast$/, replacement: join(root, 'src/index.ts') },
        { find: /^holdfast\/([\w-]+)$/, replacement: join(root, 'src/$1.ts') },
      ],
    },
    test: {
      name,
      root,
      setupFiles: [join(root, 'test/setup.ts')],
      globalSetup: ['test/print-seed.ts', ...globalSetup].map((file) => join(root, file)),
      // Long, so that only a test that hangs reaches it: no test asserts a duration.
      testTimeout: 300_000,
      hookTimeout: 300_000,
      // Processes that tests start from sources or packages begin with the code that earlier ones compiled.
      env: { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/holdfast-compiled'), ...env },
      ...test,
      exclude: ['**/node_modules/**', ...(test.exclude ?? [])],
    },
  };
}

export default defineConfig({
  test: {
    maxWorkers: availableParallelism(), // vitest would leave one core idle
    projects: [
      tier('pure', { include: testsIn(PURE), isolate: false }),
      tier('fast', {
        include: ['test/**/*.test.ts'],
        exclude: [...testsIn([...PURE, ...TIERS]), 'test/crash/placed-events.test.ts'],
      }),
      tier('crash', { include: testsIn(['crash']), env: { POINTS: 'all' }, testTimeout: 900_000 }),
      tier('chaos', { include: testsIn(['chaos']), testTimeout: 1_800_000 }),
      tier('postgres', {
        include: testsIn(['postgres']),
        globalSetup: ['test/postgres/support/set-up-server.ts'],
        env: { POINTS: process.env.POINTS ?? '2' },
      }),
      tier('runtimes', {
        include: testsIn(['runtimes']),
        globalSetup: ['test/runtimes/set-up-runtimes.ts'],
        fileParallelism: false,
        testTimeout: 1_800_000,
      }),
      tier('browser', { include: testsIn(['browser']), fileParallelism: false }),
      tier('agents', {
        root: join(root, 'test/agents'),
        include: ['*.test.ts'],
        globalSetup: ['test/agents/support/set-up-opencode.ts'],
      }),
    ],
  },
});
