import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { memoryStore, type Store } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { type BundledScript, bundleScript } from '../support/bundle.ts';
import { randomFrom, SEED } from '../support/random.ts';
import { type Note, problemsOf, reopened } from './inbox-model.ts';
import { Participant, pausing, SESSION } from './inbox-participant.ts';

/** D61: every input is placed exactly once or withdrawn, in order, with any senders, cancels and runners; and no wake-up is lost. */

async function inSqlite(work: (store: Store) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-inbox-'));
  try {
    const store = await sqliteStore(join(directory, 'sessions.db'));
    await work(store).finally(() => store.close());
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

describe.each<[name: string, numRuns: number, inStore: typeof inSqlite]>([
  ['memory', 80, (work) => work(memoryStore())],
  ['SQLite', 30, inSqlite],
])('participants with their own handles, in %s', (_, numRuns, inStore) => {
  test('every input is placed once or withdrawn, and no work is left for a runner', async () => {
    const seen = { sent: 0, withdrawn: 0, effects: 0 };
    const live = async (seed: number, count: number): Promise<void> =>
      inStore(async (store) => {
        const random = randomFrom(seed);
        const notes: Note[] = [];
        const outside = { note: (note: Note) => void notes.push(note), pause: pausing(random) };
        const names = Array.from({ length: count }, (_unused, n) => `p${n}`);
        const people = await Promise.all(names.map((name) => Participant.open(name, store, outside, random)));
        await Promise.all(people.map((person) => person.live(12)));
        // Each has called `run` after its last action: an input that is queued now lost its wake-up.
        const { step, work } = (await people[0]?.left()) ?? {};
        expect(step?.do).not.toBe('begin');
        if (step?.do === 'resume') expect(step.evaluation).toMatchObject({ reason: 'PROVIDER_FAILED' });
        expect(work).toBeUndefined();
        expect(await problemsOf(await reopened(store, SESSION), notes, { isOver: false })).toEqual([]);
        await people[0]?.end();
        expect(await problemsOf(await reopened(store, SESSION), notes, { isOver: true })).toEqual([]);
        for (const { note } of notes) {
          if (note === 'sent') seen.sent++;
          if (note === 'withdrawn') seen.withdrawn++;
          if (note === 'effect') seen.effects++;
        }
      });
    await fc.assert(fc.asyncProperty(fc.integer({ min: 1 }), fc.integer({ min: 2, max: 4 }), live), { numRuns });
    expect(Math.min(seen.sent / 5, seen.withdrawn, seen.effects)).toBeGreaterThan(numRuns / 2);
  });
});

let child: BundledScript;
beforeAll(async () => {
  child = await bundleScript(join(import.meta.dirname, 'inbox-child.ts'));
});
afterAll(() => child.remove());

/** Runs a process until it ends or is killed. */
function run(dir: string, seed: number | 'end'): Promise<string | 'killed'> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [child.path, dir, String(seed)], (error, stdout, stderr) => {
      if (error?.signal === 'SIGKILL') resolve('killed');
      else if (error) reject(new Error(`seed ${seed}: ${stderr || error.message}`));
      else resolve(stdout);
    });
  });
}

test('participants in their own processes, some of which are killed', { timeout: 240_000 }, async () => {
  const seen = { kills: 0, sent: 0, withdrawn: 0, effect: 0, request: 0 };
  const live = async (seed: number): Promise<void> => {
    const dir = mkdtempSync(join(tmpdir(), 'holdfast-inbox-'));
    try {
      for (let round = 0; round < 2; round++) {
        const ended = await Promise.all([1, 2, 3].map((n) => run(dir, seed + 10 * round + n)));
        seen.kills += ended.filter((end) => end === 'killed').length;
      }
      const { problems, notes } = JSON.parse(await run(dir, 'end'));
      expect({ seed, problems }).toEqual({ seed, problems: [] });
      for (const note of notes as readonly Note['note'][]) seen[note]++;
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  };
  await fc.assert(fc.asyncProperty(fc.integer({ min: 1, max: 2 ** 30 }), live), { numRuns: 3, endOnFailure: true });
  // The number of kills is random: repeats until enough has happened.
  const isEnough = (): boolean => seen.kills > 1 && seen.sent > 60 && seen.withdrawn > 5 && seen.effect > 10;
  for (let seed = SEED; !isEnough(); seed += 100) await live(seed);
});
