import { defineConfig } from 'vitest/config';

/** Real agents start slowly and are heavy: two files at a time, with long timeouts. */
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
