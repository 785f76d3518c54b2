import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import { appendCases } from './conformance/append-cases.ts';
import { contentCases } from './conformance/content-cases.ts';
import { draftCases } from './conformance/draft-cases.ts';
import { errorCases } from './conformance/error-cases.ts';
import { forkCases } from './conformance/fork-cases.ts';
import { type Case, type Harness, type Need, withStore } from './conformance/harness.ts';
import { incarnationCases } from './conformance/incarnation-cases.ts';
import { leaseCases } from './conformance/lease-cases.ts';
import { lifecycleCases } from './conformance/lifecycle-cases.ts';
import { propertyCases } from './conformance/property-cases.ts';
import { searchCases } from './conformance/search-cases.ts';
import { sessionCases } from './conformance/session-cases.ts';
import { snapshotCases } from './conformance/snapshot-cases.ts';
import { summaryCases } from './conformance/summary-cases.ts';

/**
 * The store contract of `ports/store.ts` as a suite for any store and any test runner:
 *
 *     for (const { name, run } of storeConformance({ create })) test(name, run);
 */

const DEFAULT_RUNS = 60;

/** Options of `storeConformance`: how the suite opens your store. */
export interface StoreConformanceOptions {
  /** A new and empty store, whose leases follow `clock`. */
  create(options: { readonly clock: Clock }): Promise<Store>;
  /**
   * Another handle on the data of `store`, which may be open or closed. Omit it for a store whose data ends with its handle: the
   * suite then skips the rules about sharing.
   */
  reopen?(store: Store, options: { readonly clock: Clock }): Promise<Store>;
  /**
   * Removes the text of external content from the data of `store`, as damage would, and leaves the references to it. Omit it for a
   * store whose data cannot be reached from outside: the suite then skips the rule about lost contents.
   */
  loseContent?(store: Store, hash: string): Promise<void>;
  /**
   * Makes the data of the open `store` unreachable, as a removed file or a stopped server would: what is appended afterwards cannot be
   * stored. Omit it for a store whose data is always there: the suite then skips the rule about such errors.
   */
  makeUnreachable?(store: Store): Promise<void>;
  /** The number of generated histories for each property; 60 by default. */
  readonly runs?: number;
}

/** What the suite uses of a test's context. The contexts of vitest and of `node:test` have it. */
export interface ConformanceContext {
  skip(reason?: string): void;
}

/** One rule of the contract. */
export interface ConformanceTest {
  /** The rule, with its invariant or decision. */
  readonly name: string;
  /**
   * Why the rule is not tested; undefined if it is. Known from the start when an option of the suite is missing, and after `run` when
   * the store lacks an optional method.
   */
  readonly skipped: string | undefined;
  /**
   * Rejects when the store breaks the rule. Resolves for a rule that is skipped, and calls `skip` of the context first: a runner that
   * passes its context then shows the rule as skipped.
   */
  run(context?: ConformanceContext): Promise<void>;
}

const WHY_SKIPPED: Readonly<Record<Need, string>> = {
  reopen: 'the suite was given no `reopen`',
  loseContent: 'the suite was given no `loseContent`',
  makeUnreachable: 'the suite was given no `makeUnreachable`',
  search: 'the store has no `search`',
  watchWork: 'the store has no `watchWork`',
};

/** The contract as tests: each creates its own store and closes it. The generated ones need fast-check to be installed. */
export function storeConformance(options: StoreConformanceOptions): readonly ConformanceTest[] {
  const { runs = DEFAULT_RUNS } = options;
  const cases: readonly Case[] = [
    ...appendCases,
    ...leaseCases,
    ...incarnationCases,
    ...snapshotCases,
    ...draftCases,
    ...contentCases,
    ...sessionCases,
    ...summaryCases,
    ...forkCases,
    ...searchCases,
    ...lifecycleCases,
    ...errorCases,
  ];
  return [
    ...cases.map((each) => conformanceTest(each, options)),
    ...propertyCases.map(({ name, check }) => ({ name, skipped: undefined, run: () => check(options, runs) })),
  ];
}

function conformanceTest({ name, needs = [], check }: Case, options: StoreConformanceOptions): ConformanceTest {
  let skipped = reasonToSkip(needs, (need) => need === 'search' || need === 'watchWork' || options[need] !== undefined);
  return {
    name,
    get skipped() {
      return skipped;
    },
    // A rest parameter: some runners wait for a callback when a function has a parameter.
    async run(...[context]: [context?: ConformanceContext]) {
      if (skipped === undefined) {
        await withStore(options, async (harness) => {
          skipped = reasonToSkip(needs, (need) => hasNeed(harness, need));
          if (skipped === undefined) await check(harness);
        });
      }
      if (skipped !== undefined) context?.skip(skipped);
    },
  };
}

function reasonToSkip(needs: readonly Need[], isThere: (need: Need) => boolean): string | undefined {
  const missing = needs.find((need) => !isThere(need));
  return missing && WHY_SKIPPED[missing];
}

function hasNeed({ store, ...harness }: Harness, need: Need): boolean {
  return (need === 'search' || need === 'watchWork' ? store[need] : harness[need]) !== undefined;
}
