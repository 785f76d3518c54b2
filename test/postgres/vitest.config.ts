import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** `npm run test:postgres`: against a real PostgreSQL, which the tests start, or the one that `DATABASE_URL` names. */
export default defineConfig({
  root: import.meta.dirname,
  test: {
    include: ['*.test.ts'],
    globalSetup: ['support/set-up-server.ts'],
    setupFiles: [join(import.meta.dirname, '../setup.ts')],
    testTimeout: 300_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
  },
});
