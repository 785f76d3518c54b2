/**
 * The store suite again, with stores that give recent events their places in the middle of whatever a test does: with few events that happens
 * otherwise only once for every thousand. In this tier since `test/stores/conformance.test.ts` has the same rules.
 */
import { describe } from 'vitest';
import { testSqlite } from '../stores/support/sqlite-suite.ts';

describe.for([
  ['each append places its events', 1],
  ['every third event places all', 3],
] as const)('sqlite, %s', ([, placeEvery]) => testSqlite(placeEvery));
