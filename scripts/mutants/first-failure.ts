import { relative } from 'node:path';

/** The part of vitest's JSON report that is read. */
export interface TestReport {
  readonly testResults: readonly {
    /** The whole path of the file. */
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** The first failed test of a report, with its file; undefined if none failed. A file that cannot be loaded fails as a whole. */
export function firstFailure({ testResults }: TestReport, tree: string): string | undefined {
  for (const { name, status, assertionResults } of testResults) {
    const file = relative(tree, name);
    const failed = assertionResults.find((test) => test.status === 'failed');
    if (failed) return `${file}: ${failed.fullName.trim()}`;
    if (status === 'failed') return `${file}, which fails as a whole`;
  }
  return undefined;
}
