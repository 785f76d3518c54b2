import { defineConfig } from 'vitest/config';

/** `npm run test:browser`: needs Chromium (`/usr/bin/chromium`, or `CHROMIUM`). */
export default defineConfig({
  test: { include: ['test/browser/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000, fileParallelism: false },
});
