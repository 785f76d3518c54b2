/** What the tiers of `npm run test:all` came to, from vitest's reports and from exit codes. */

/** The fields of vitest's JSON report that are read. */
export interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly startTime: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: readonly string[] | null;
    }[];
  }[];
}

/** The result of one tier. */
export interface Outcome {
  readonly name: string;
  readonly seconds: number;
  readonly passed: number;
  readonly failed: number;
  readonly failures: readonly string[];
  readonly files: readonly { readonly file: string; readonly seconds: number }[];
}

/** Of a tier that wrote a report. Without one it did not get as far as its tests, which counts as a failure. */
export function outcomeOfReport(name: string, report: Report | undefined, seconds?: number): Outcome {
  if (!report) {
    const failures = ['it did not get as far as its tests'];
    return { name, seconds: seconds ?? 0, passed: 0, failed: 1, failures, files: [] };
  }
  const failures = report.testResults.flatMap(({ name: file, status, message, assertionResults }) => {
    const tests = assertionResults.filter((test) => test.status === 'failed');
    // A file that could not be loaded has no tests to fail.
    if (tests.length === 0) return status === 'failed' ? [`${file}: ${firstLine(message)}`] : [];
    return tests.map(({ fullName, failureMessages }) => `${fullName}: ${firstLine(failureMessages?.[0])}`);
  });
  const files = report.testResults.map(({ name: file, startTime, endTime }) => ({
    file,
    seconds: (endTime - startTime) / 1000,
  }));
  const end = Math.max(report.startTime, ...report.testResults.map(({ endTime }) => endTime));
  return {
    name,
    seconds: seconds ?? (end - report.startTime) / 1000,
    passed: report.numPassedTests,
    failed: failures.length,
    failures,
    files,
  };
}

/** Of a tier that only ends well or not. */
export function outcomeOfExit(name: string, code: number, seconds: number): Outcome {
  const isPassed = code === 0;
  const failures = isPassed ? [] : [`it exited with ${code}`];
  return { name, seconds, passed: isPassed ? 1 : 0, failed: failures.length, failures, files: [] };
}

/** Each failure by name, with its tier. */
export function failuresIn(outcomes: readonly Outcome[]): readonly string[] {
  return outcomes.flatMap(({ name, failures }) => failures.map((failure) => `FAILED ${name}: ${failure}`));
}

/** The files of all tiers, the slowest first, as paths below the root. */
export function slowestFiles(outcomes: readonly Outcome[], root: string): Outcome['files'] {
  return outcomes
    .flatMap(({ files }) => files)
    .map(({ file, seconds }) => ({ file: file.replace(`${root}/`, ''), seconds }))
    .sort((a, b) => b.seconds - a.seconds);
}

function firstLine(text = ''): string {
  return text.split('\n', 1)[0] ?? '';
}
