import { describe, test } from 'vitest';
import { storeConformance } from '../../src/stores/conformance.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { testSqlite } from './support/sqlite-suite.ts';

describe('memory', () => {
  const suite = storeConformance({ create: async (options) => memoryStore(options), runs: 300 });
  // Its data ends with its handle, and cannot be damaged from outside.
  for (const { name, run, skipped } of suite) if (skipped === undefined) test(name, run);
});

describe('sqlite', () => testSqlite());
