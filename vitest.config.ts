import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/setup.ts'],
    // What needs packages or programs of its own runs with `npm run test:agents`, `test:runtimes`, `test:postgres` and `test:browser`.
    exclude: ['test/agents/**', 'test/runtimes/**', 'test/browser/**', 'test/postgres/**', '**/node_modules/**'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    typecheck: { enabled: true, include: ['test/**/*.test-d.ts'], tsconfig: './tsconfig.json' },
  },
});
