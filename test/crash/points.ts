/**
 * How many points of each scenario a run of the crash matrix takes: `POINTS=all` takes all of them, otherwise a spread that the seed chooses,
 * which is different for every scenario.
 */

import { randomFrom, SEED, seedOf } from '../support/random.ts';
import type { RunOptions } from './matrix.ts';
import type { Scenario } from './scenario-parts.ts';
import { SCENARIOS } from './scenarios.ts';

const SPREAD = { kills: 6, resumeKills: 2 };

export const takesAllPoints: boolean = process.env.POINTS === 'all';

/** What a run takes of a scenario. */
export function pointsOf(scenario: Scenario): Pick<RunOptions, 'kills' | 'resumeKills' | 'random'> {
  const random = randomFrom(seedOf(SEED, SCENARIOS.indexOf(scenario)));
  return takesAllPoints ? { random } : { ...SPREAD, random };
}
