import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import { appendCases } from './conformance/append-cases.ts';
import { contentCases } from './conformance/content-cases.ts';
import { draftCases } from './conformance/draft-cases.ts';
import { forkCases } from './conformance/fork-cases.ts';
import { type Case, withStore } from './conformance/harness.ts';
import { incarnationCases } from './conformance/incarnation-cases.ts';
import { leaseCases } from './conformance/lease-cases.ts';
import { lifecycleCases } from './conformance/lifecycle-cases.ts';
import { propertyCases } from './conformance/property-cases.ts';
import { searchCases } from './conformance/search-cases.ts';
import { sessionCases } from './conformance/session-cases.ts';
import { snapshotCases } from './conformance/snapshot-cases.ts';

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
   * suite then omits the rules about sharing.
   */
  reopen?(store: Store, options: { readonly clock: Clock }): Promise<Store>;
  /**
   * Removes the text of external content from the data of `store`, as damage would, and leaves the references to it. Omit it for a
   * store whose data cannot be reached from outside: the suite then omits the rule about lost contents.
   */
  loseContent?(store: Store, hash: string): Promise<void>;
  /** The number of generated histories for each property; 60 by default. */
  readonly runs?: number;
}

/** One rule of the contract. */
export interface ConformanceTest {
  /** The rule, with its invariant or decision. */
  readonly name: string;
  /** Rejects when the store breaks the rule. Skips a rule about searching if the store has no `search`. */
  run(): Promise<void>;
}

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
    ...forkCases,
    ...searchCases,
    ...lifecycleCases,
  ];
  return [
    ...cases
      .filter((each) => (!each.shared || options.reopen) && (!each.damaging || options.loseContent))
      .map(({ name, check, searching }) => ({
        name,
        run: () =>
          withStore(options, async (harness) => {
            if (!searching || harness.store.search) await check(harness);
          }),
      })),
    ...propertyCases.map(({ name, check }) => ({ name, run: () => check(options, runs) })),
  ];
}
