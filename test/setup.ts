/** Properties run on the inputs of the run's seed, so that a new failure comes from a change and not from chance. */
import fc from 'fast-check';
import { SEED } from './support/random.ts';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED });
