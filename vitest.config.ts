import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  // The examples import the package by its name, as users do: here it is the sources.
  resolve: {
    alias: [
      { find: /^holdfast$/, replacement: join(import.meta.dirname, 'src/index.ts') },
      { find: /^holdfast\/([\w-]+)$/, replacement: join(import.meta.dirname, 'src/$1.ts') },
    ],
  },
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
