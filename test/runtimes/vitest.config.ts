import { defineConfig } from 'vitest/config';

/** Other versions of Node, installed from the registry: one file at a time, since each test starts whole installations. */
export default defineConfig({
  root: import.meta.dirname,
  test: {
    include: ['*.test.ts'],
    globalSetup: ['set-up-runtimes.ts'],
    testTimeout: 1_500_000,
    hookTimeout: 300_000,
    maxWorkers: 1,
  },
});
