import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ModelRequest, Session } from '../../src/index.ts';
import { advancing, expectCoherent } from './agent.ts';
import { Life, World } from './mortal.ts';
import { asked, comeTo, converse, type Scenario, scenarios } from './random-agent.ts';

interface Outcome {
  readonly world: World;
  readonly session: Session;
  readonly requests: readonly ModelRequest[];
  /** The points that each process passed. */
  readonly passed: readonly number[];
}

/** Starts a new process after each crash until the conversation has ended. */
async function live(scenario: Scenario, crashes: readonly number[]): Promise<Outcome> {
  const world = new World();
  const requests: ModelRequest[] = [];
  const passed: number[] = [];
  for (const crashAt of [...crashes, Number.POSITIVE_INFINITY]) {
    const life = new Life(world, crashAt);
    const end = await advancing(world.clock, Promise.race([converse(life, scenario, requests), life.died]), 250);
    passed.push(life.passed);
    if (end !== 'died') return { world, session: end, requests, passed };
    world.clock.advance(60_000); // its lease expires
  }
  throw new Error('it never ended');
}

/** Calls whose tool may act at most once. */
function onceCalls({ session, world }: Outcome): readonly number[] {
  const once = session.state.record.toolStarts.toArray().filter(({ effect }) => effect === 'once');
  return once.map(({ evaluationId, turn, callId }) => world.acts.get(`random/${evaluationId}/${turn}/${callId}`) ?? 0);
}

/** Crash points, in thousandths of an uninterrupted run. Uniform: generated doubles and integers favour small values. */
const places = fc.array(fc.noBias(fc.integer({ min: 0, max: 999 })), { minLength: 1, maxLength: 5 });

/** Everything that must be the same with and without crashes. */
async function judge(outcome: Outcome, expected: Outcome): Promise<void> {
  expect(comeTo(outcome.session)).toEqual(comeTo(expected.session));
  expect(asked(outcome.session, outcome.requests)).toEqual(asked(expected.session, expected.requests));
  expectCoherent(outcome.requests);
  expect(outcome.world.ranAgain).toEqual([]);
  expect(outcome.world.acts.size).toBe(expected.world.acts.size);
  expect(Math.max(0, ...onceCalls(outcome))).toBeLessThanOrEqual(1);
  const summaries = new Set<string>();
  for await (const event of outcome.session.events()) {
    if (event.type === 'history/summarized') {
      const place = `${event.evaluationId} ${event.key}`;
      expect(summaries).not.toContain(place);
      summaries.add(place);
    }
    if (event.type === 'history/curated') expect(event).not.toHaveProperty('repairs'); // nothing had to be repaired
  }
}

test('I2, I3, I4: any conversation, killed at any points, ends like an uninterrupted one', async () => {
  let deaths = 0;
  await fc.assert(
    fc.asyncProperty(scenarios, places, async (scenario, crashes) => {
      const expected = await live(scenario, []);
      const points = expected.passed[0] ?? 1;
      const at = crashes.map((place) => 1 + Math.floor((place / 1_000) * points));
      const outcome = await live(scenario, at);
      deaths += outcome.passed.length - 1;
      await judge(expected, expected);
      await judge(outcome, expected);
    }),
    { numRuns: 120 },
  );
  expect(deaths).toBeGreaterThan(120);
});

const plain = { how: 'ok', delay: 0, note: true, deny: false } as const;
const rich: Scenario = {
  messages: [
    {
      turns: [
        [
          { ...plain, tool: 'look', delay: 2 },
          { ...plain, tool: 'write', how: 'flaky' },
          { ...plain, tool: 'pay', delay: 1 },
          { ...plain, tool: 'send', how: 'fail' },
        ],
        [
          { ...plain, tool: 'deploy' },
          { ...plain, tool: 'delegate' },
          { ...plain, tool: 'deploy', deny: true },
          { ...plain, tool: 'pay', how: 'hang' },
        ],
      ],
      failures: [
        { times: 1, midway: true },
        { times: 2, midway: false },
      ],
      wrongAnswers: 1,
    },
    { turns: [[{ ...plain, tool: 'nosuch' }]], failures: [], wrongAnswers: 0 },
  ],
  child: { turns: [[{ ...plain, tool: 'pay' }]], failures: [], wrongAnswers: 0 },
  structured: true,
  maxParallelCalls: undefined,
  summarizes: true,
};

test.for([
  ['every point', 1, undefined],
  ['every third point, one call at a time', 3, 1],
] as const)(
  'I2, I3, I4: killed at %s of a rich conversation, and again in the process that resumes',
  async ([, step, maxParallelCalls]) => {
    const scenario = { ...rich, maxParallelCalls };
    const expected = await live(scenario, []);
    const points = expected.passed[0] ?? 0;
    expect(points).toBeGreaterThan(100);
    for (let at = 1; at <= points; at += step) {
      const outcome = await live(scenario, [at, 1 + Math.floor((points - at) / 3)]);
      expect(outcome.passed.length, `died at ${at}`).toBeGreaterThan(1);
      await judge(outcome, expected);
    }
  },
);
