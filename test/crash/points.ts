import { POINTS, randomFrom, SEED, seedOf } from '../support/random.ts';
import type { RunOptions } from './matrix.ts';
import type { Scenario } from './scenario-parts.ts';
import { SCENARIOS } from './scenarios.ts';

/** Points of each scenario, unless `POINTS` says otherwise. */
const SPREAD = 6;

/** What a run of the crash matrix takes of a scenario: a spread that is different for every scenario, unless it takes all points. */
export function pointsOf(scenario: Scenario): Pick<RunOptions, 'kills' | 'resumeKills' | 'random'> {
  const random = randomFrom(seedOf(SEED, SCENARIOS.indexOf(scenario)));
  if (POINTS === 'all') return { random };
  const kills = POINTS ?? SPREAD;
  return { kills, resumeKills: Math.ceil(kills / 3), random };
}
