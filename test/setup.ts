/**
 * Properties run on the same random inputs every time, so that a failure is somebody's change and not somebody's luck.
 * `FAST_CHECK_SEED=<number>` (or `random`) looks elsewhere.
 */
import fc from 'fast-check';

const seed = process.env.FAST_CHECK_SEED ?? '20261115';
if (seed !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
