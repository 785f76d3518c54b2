import { defineConfig } from 'vitest/config';

/** Real agents are slow to start and heavy: two files at a time, and time enough for a busy machine. */
export default defineConfig({
  root: import.meta.dirname,
  test: {
    include: ['*.test.ts'],
    globalSetup: ['support/set-up-opencode.ts'],
    testTimeout: 240_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
  },
});
