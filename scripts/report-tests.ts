/** Converts vitest's JSON reports to CI's format: each failure by name, and the number of passed and failed tests. */
import { existsSync, readFileSync } from 'node:fs';

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numFailedTestSuites: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

const paths = process.argv.slice(2);
if (paths.length === 0) throw new Error('usage: report-tests.ts <vitest json report> …');
let passed = 0;
let failed = 0;
for (const path of paths) {
  if (!existsSync(path)) {
    failed++;
    console.log(`FAILED ${path}: it did not get as far as its tests`);
    continue;
  }
  const report = JSON.parse(readFileSync(path, 'utf8')) as Report;
  passed += report.numPassedTests;
  // A file that could not be loaded has no tests to fail.
  failed += report.numFailedTests || Math.min(1, report.numFailedTestSuites);
  for (const line of failuresIn(report)) console.log(line);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

function failuresIn({ testResults }: Report): readonly string[] {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const tests = assertionResults.filter((test) => test.status === 'failed');
    if (tests.length === 0) return status === 'failed' ? [`FAILED ${name}: ${firstLine(message)}`] : [];
    return tests.map(({ fullName, failureMessages }) => `FAILED ${fullName}: ${firstLine(failureMessages?.[0])}`);
  });
}

function firstLine(text = ''): string {
  return text.split('\n', 1)[0] ?? '';
}
