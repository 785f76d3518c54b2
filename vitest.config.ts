import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/setup.ts'],
    // Tests that need their own packages run by `npm run test:agents`.
    exclude: ['test/agents/**', '**/node_modules/**'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    typecheck: { enabled: true, include: ['test/**/*.test-d.ts'], tsconfig: './tsconfig.json' },
  },
});
