import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { memoryStore } from '../../src/index.ts';
import { type BundledScript, bundleScript } from '../support/bundle.ts';
import { randomFrom, SEED } from '../support/random.ts';
import { effectOf, lies, Person } from './people.ts';

/** I2, D67: with any decisions at any time, a call acts at most once per permitted run, and the log matches what happened. */

test('people with their own handles', async () => {
  const acted = { effects: 0, words: 0 };
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1 }), fc.integer({ min: 2, max: 4 }), async (seed, count) => {
      const store = memoryStore();
      const random = randomFrom(seed);
      const effects: string[] = [];
      const words: string[] = [];
      const outside = {
        async effect(context: Parameters<typeof effectOf>[0]) {
          effects.push(effectOf(context));
          for (let i = random() * 40; i > 0; i--) await setImmediate();
        },
        accepted: (word: string) => words.push(word),
      };
      const people = await Promise.all(Array.from({ length: count }, () => Person.open(store, outside, random)));
      await Promise.all(people.map((person) => person.live(40)));
      const session = await (await Person.open(store, outside, () => 1)).end();
      expect(await lies(session, { effects, words })).toEqual([]);
      acted.effects += effects.length;
      acted.words += words.length;
    }),
    { numRuns: 60 },
  );
  expect(acted.effects).toBeGreaterThan(60);
  expect(acted.words).toBeGreaterThan(120);
});

let child: BundledScript;
beforeAll(async () => {
  child = await bundleScript(join(import.meta.dirname, 'people-child.ts'));
});
afterAll(() => child.remove());

/** Runs a process until it ends or is killed. */
function run(dir: string, seed: number | 'end'): Promise<string | 'killed'> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [child.path, dir, String(seed)], (error, stdout, stderr) => {
      if (error?.signal === 'SIGKILL') resolve('killed');
      else if (error) reject(new Error(stderr || error.message));
      else resolve(stdout);
    });
  });
}

test('people in their own processes, some of which are killed', { timeout: 120_000 }, async () => {
  const seen = { kills: 0, effects: 0, words: 0 };
  const live = async (seed: number): Promise<void> => {
    const dir = mkdtempSync(join(tmpdir(), 'holdfast-people-'));
    try {
      for (let round = 0; round < 2; round++) {
        const ended = await Promise.all([1, 2, 3].map((n) => run(dir, seed + 10 * round + n)));
        seen.kills += ended.filter((end) => end === 'killed').length;
      }
      const end = JSON.parse(await run(dir, 'end'));
      expect(end.lies).toEqual([]);
      seen.effects += end.effects;
      seen.words += end.words.length;
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  };
  await fc.assert(fc.asyncProperty(fc.integer({ min: 1, max: 2 ** 30 }), live), { numRuns: 3 });
  // The number of kills is random: repeats until enough has happened.
  for (let seed = SEED; seen.kills === 0 || seen.effects <= 4 || seen.words <= 8; seed += 100) await live(seed);
});
