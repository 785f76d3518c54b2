/** Turns vitest's JSON report into the one line that CI reads. */
import { readFileSync } from 'node:fs';

const [path] = process.argv.slice(2);
if (!path) throw new Error('usage: report-tests.ts <vitest json report>');
const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(path, 'utf8')) as {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
};
console.log(`${numPassedTests} passed, ${numFailedTests} failed`);
