import type { TestProject } from 'vitest/node';
import { SEED } from './support/random.ts';

let isPrinted = false;

/** Prints the seed of the run once, whatever the number of tiers. */
export default function printSeed(_project: TestProject): void {
  if (!isPrinted) console.log(`SEED=${SEED}`);
  isPrinted = true;
}
