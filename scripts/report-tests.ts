/** Turns vitest's JSON reports into the one line that CI reads. */
import { existsSync, readFileSync } from 'node:fs';

const paths = process.argv.slice(2);
if (paths.length === 0) throw new Error('usage: report-tests.ts <vitest json report> …');
let passed = 0;
let failed = 0;
for (const path of paths) {
  if (!existsSync(path)) {
    failed++; // it did not come as far as its tests
    continue;
  }
  const report = JSON.parse(readFileSync(path, 'utf8')) as {
    readonly numPassedTests: number;
    readonly numFailedTests: number;
    readonly numFailedTestSuites: number;
  };
  passed += report.numPassedTests;
  // A file that could not even be loaded has no tests to fail.
  failed += report.numFailedTests || Math.min(1, report.numFailedTestSuites);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
