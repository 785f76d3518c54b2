/**
 * D74: a reader that is disconnected at random, again and again, ends in the state of the log, while an agent with parallel children
 * streams, is killed and resumed. The seed of a failure is in its message; `SEED=<seed>` repeats it as far as processes can be repeated.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { advancing } from '../../loop/agent.ts';
import { Life, World } from '../../loop/mortal.ts';
import { type BundledScript, bundleScript } from '../../support/bundle.ts';
import { randomFrom, SEED } from '../../support/random.ts';
import { hesitant } from './hesitant.ts';
import { oneLife } from './one-life.ts';
import { RestlessReader } from './restless-reader.ts';

const ROUNDS = Number(process.env.TAIL_ROUNDS ?? 10);

test('memory: readers that are disconnected at random show the log and its open drafts, wherever the agent is killed', async () => {
  const random = randomFrom(SEED);
  const totals = { cuts: 0, deaths: 0, pieces: 0, progress: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    const world = new World();
    const options = { store: hesitant(world.store, random), id: 'session', random };
    const readers = [false, true].map((forgets) => new RestlessReader({ ...options, forgets }));
    for (let life = 0; ; life++) {
      for (const reader of readers) reader.start();
      const one = new Life(world, life < 12 ? 1 + Math.floor(random() * 250) : Number.POSITIVE_INFINITY);
      const end = await advancing(world.clock, Promise.race([oneLife(one, random), one.died]));
      for (const reader of readers)
        expect(await reader.stop(), `seed ${SEED}, life ${life} of round ${round}`).toEqual([]);
      for (const reader of readers) expect(await reader.replayed(), `seed ${SEED}, life ${life}`).toEqual([]);
      if (end !== 'died') break;
      totals.deaths++;
      world.clock.advance(60_000); // its lease expires
    }
    const counts = readers[0]?.strict?.counts;
    totals.cuts += readers.reduce((sum, reader) => sum + reader.cuts, 0);
    totals.pieces += counts?.['message/delta'] ?? 0;
    totals.progress += counts?.['tool/progress'] ?? 0;
  }
  expect(totals.cuts).toBeGreaterThan(500);
  expect(totals.deaths).toBeGreaterThan(20);
  expect(totals.pieces).toBeGreaterThan(200);
  expect(totals.progress).toBeGreaterThan(50);
});

let agent: BundledScript;
let reader: BundledScript;
let directory: string;
beforeAll(async () => {
  agent = await bundleScript(join(import.meta.dirname, 'agent-child.ts'));
  reader = await bundleScript(join(import.meta.dirname, 'reader-child.ts'));
  directory = mkdtempSync(join(tmpdir(), 'holdfast-tail-'));
});
afterAll(() => {
  agent.remove();
  reader.remove();
  rmSync(directory, { recursive: true, force: true });
});

test("SQLite: readers of another process show the log and its open drafts, whenever the agent's process is killed", async () => {
  const random = randomFrom(SEED);
  const database = join(directory, 'agent.db');
  const reading = start(reader.path, [database, String(SEED)]);
  expect(await reading.line()).toBe('"begun"');
  let report: Report = { wrong: [], cuts: 0, counts: [] };
  let kills = 0;
  for (let status = ''; status !== 'completed'; ) {
    const running = start(agent.path, [database, String(SEED + kills)]);
    expect(await running.line()).toBe('begun');
    const killed = kills < 8 ? setTimeout(100 + random() * 900, 'killed') : new Promise<never>(() => {});
    status = await Promise.race([running.line(), killed]);
    if (status === 'killed') {
      kills++;
      running.process.kill('SIGKILL');
    }
    await running.ended;
    reading.process.stdin?.write('check\n');
    report = JSON.parse(await reading.line()) as Report;
    expect(report.wrong, `seed ${SEED}, after ${kills} kills`).toEqual([]);
  }
  reading.process.stdin?.end();
  await reading.ended;
  expect(kills).toBeGreaterThan(3);
  expect(report.cuts).toBeGreaterThan(200);
  expect(report.counts[0]?.['message/delta']).toBeGreaterThan(20);
  expect(report.counts[0]?.['tool/progress']).toBeGreaterThan(5);
});

interface Report {
  readonly wrong: readonly string[];
  readonly cuts: number;
  readonly counts: readonly (Readonly<Record<string, number>> | null)[];
}

interface Started {
  readonly process: ChildProcess;
  readonly ended: Promise<unknown>;
  /** The next line that the process writes; its error output if it ends first. */
  line(): Promise<string>;
}

function start(script: string, args: readonly string[]): Started {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    process: child,
    ended: once(child, 'close'),
    async line() {
      const { done, value } = await lines.next();
      return done ? `ended: ${errors}` : value;
    },
  };
}
