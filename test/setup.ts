/**
 * Properties run on the same random inputs every time, so that a new failure comes from a change and not from chance.
 * `FAST_CHECK_SEED=<number>` (or `random`) uses other inputs.
 */
import fc from 'fast-check';

const seed = process.env.FAST_CHECK_SEED ?? '20261115';
if (seed !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
