/** Durable timers (D78): a tool or a provider names a time, the log holds the wake-up, and any later run fires it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createAdapter, definePrompt, type ProviderAdapter } from '../../src/evaluate.ts';
import {
  defineSlice,
  defineSubagent,
  defineTool,
  memoryStore,
  openSession,
  type ScriptedTurn,
  type Session,
  scriptedModel,
  suspendUntil,
  type ToolContext,
  textOf,
} from '../../src/index.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';

const MINUTE = 60_000;
const input = z.object({});

interface Setting {
  readonly clock: FakeClock;
  readonly session: Session;
  readonly run: () => ReturnType<ProviderAdapter['run']>;
  readonly texts: () => readonly string[];
}

async function setting(
  tools: Parameters<typeof definePrompt>[0]['tools'],
  script: readonly ScriptedTurn[] | ((turn: number, key: string) => ScriptedTurn),
): Promise<Setting> {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const session = await openSession({ store, id: 's', clock });
  const prompt = definePrompt({ ns: 'test', key: 'timers', instructions: 'Wait.', tools: tools ?? [] });
  const model = scriptedModel(typeof script === 'function' ? ({ turn, prompt: { key } }) => script(turn, key) : script);
  const adapter = createAdapter({ model, random: () => 0 });
  await session.send('Look at the build.');
  return {
    clock,
    session,
    run: () => adapter.run(prompt, { session }),
    texts: () => session.messages().map(textOf),
  };
}

const LOOK = [{ toolCalls: [{ name: 'look', arguments: {} }] }, 'It is green.'] as const;

/** A tool that is ready at its nth look; it looks every half hour. */
function look(clock: () => FakeClock, ready: number, seen: Pick<ToolContext, 'attempt' | 'isResume'>[] = []) {
  return defineTool({
    name: 'look',
    description: 'Looks at the build',
    input,
    effect: 'read',
    execute: (_, { attempt, isResume }) => {
      seen.push({ attempt, isResume });
      return attempt < ready ? suspendUntil(clock().now() + 30 * MINUTE) : `green after ${attempt}`;
    },
  });
}

test('a call that returns suspendUntil suspends the evaluation until that time, and its handler runs again then, once', async () => {
  const seen: Pick<ToolContext, 'attempt' | 'isResume'>[] = [];
  const world: Setting = await setting([look(() => world.clock, 3, seen)], LOOK);
  const wakeAt = new Date(world.clock.now() + 30 * MINUTE).toISOString();
  const first = await world.run();
  expect(first).toMatchObject({ status: 'suspended', responses: [{ reason: 'TIMER_PENDING', wakeAt, pending: [] }] });
  expect(world.session.summary).toMatchObject({ status: 'suspended', wakeAt });
  expect(world.session.summary?.work).toBeUndefined();
  world.clock.advance(29 * MINUTE);
  expect(await world.run()).toMatchObject({ status: 'suspended', responses: [{ wakeAt }] });
  expect(seen).toHaveLength(1);
  world.clock.advance(MINUTE);
  expect(await world.run()).toMatchObject({ status: 'suspended' });
  world.clock.advance(30 * MINUTE);
  expect(await world.run()).toMatchObject({ status: 'idle' });
  expect(seen).toEqual([1, 2, 3].map((attempt) => ({ attempt, isResume: false })));
  expect(world.texts()).toContain('green after 3');
  expect(world.session.summary).not.toHaveProperty('wakeAt');
  expect(world.session.summary).not.toHaveProperty('suspendedUntil');
});

test('a once tool that gives a result with its timer gets that result at that time and does not run again', async () => {
  let runs = 0;
  const remind = defineTool({
    name: 'look',
    description: 'Reminds',
    input,
    effect: 'once',
    execute: () => {
      runs++;
      return suspendUntil(world.clock.now() + MINUTE, { result: { passed: '1 minute' } });
    },
  });
  const world: Setting = await setting([remind], LOOK);
  await world.run();
  world.clock.advance(MINUTE);
  expect(await world.run()).toMatchObject({ status: 'idle' });
  expect(runs).toBe(1);
  expect(world.texts()).toContain('{"passed":"1 minute"}');
});

test('a once tool that returns suspendUntil without a result gets a failed result that says what to declare', async () => {
  const bad = defineTool({ name: 'look', description: 'Looks', input, execute: () => suspendUntil(world.clock.now()) });
  const world: Setting = await setting([bad], LOOK);
  expect(await world.run()).toMatchObject({ status: 'idle' });
  expect(world.texts().join('\n')).toContain("declare effect: 'read' or 'idempotent', or give a result");
});

test('a time that has passed counts as one second from now, so that a handler cannot run in a tight loop', async () => {
  const eager = defineTool({
    name: 'look',
    description: 'Looks',
    input,
    effect: 'read',
    execute: () => suspendUntil(0),
  });
  const world: Setting = await setting([eager], LOOK);
  const wakeAt = new Date(world.clock.now() + 1000).toISOString();
  expect(await world.run()).toMatchObject({ status: 'suspended', responses: [{ wakeAt }] });
});

test.for([Number.NaN, Number.POSITIVE_INFINITY, new Date('no date'), 9e15])('suspendUntil(%s) throws', (date) => {
  expect(() => suspendUntil(date)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
});

test('parallel calls with timers of their own each continue at their own time', async () => {
  const fired: string[] = [];
  const wait = defineTool({
    name: 'wait',
    description: 'Waits',
    input: z.object({ minutes: z.number() }),
    effect: 'idempotent',
    execute: ({ minutes }, { attempt }) => {
      if (attempt === 1) return suspendUntil(world.clock.now() + minutes * MINUTE);
      fired.push(`${minutes}`);
      return `${minutes} minutes`;
    },
  });
  const calls = [20, 10, 30].map((minutes) => ({ name: 'wait', arguments: { minutes } }));
  const world: Setting = await setting([wait], [{ toolCalls: calls }, 'Done.']);
  await world.run();
  for (let i = 1; i <= 3; i++) {
    expect(world.session.summary?.wakeAt).toBe(new Date(Date.UTC(2026, 0, 1) + i * 10 * MINUTE).toISOString());
    world.clock.advance(10 * MINUTE);
    await world.run();
    expect(fired).toHaveLength(i);
  }
  expect(fired).toEqual(['10', '20', '30']);
  expect(world.session.summary?.status).toBe('completed');
});

test('events that a handler dispatched before it waits are committed with the timer', async () => {
  const world: Setting = await setting(
    [
      defineTool({
        name: 'look',
        description: 'Looks',
        input,
        effect: 'idempotent',
        slices: [
          defineSlice({
            name: 'looks',
            initial: 0,
            on: { 'build/looked': (_: number, event: { attempt: number }) => event.attempt },
          }),
        ],
        execute: async (_, { attempt, session }) => {
          await session.dispatch({ type: 'build/looked', attempt });
          return attempt === 1 ? suspendUntil(world.clock.now() + MINUTE) : 'green';
        },
      }),
    ],
    LOOK,
  );
  await world.run();
  world.clock.advance(MINUTE);
  await world.run();
  const types: string[] = [];
  for await (const event of world.session.events()) types.push(event.type);
  expect(types.filter((type) => type === 'build/looked')).toHaveLength(2);
  expect(types.indexOf('tool/deferred')).toBe(types.indexOf('build/looked') + 1);
});

test('resume ends the wait at once', async () => {
  const world: Setting = await setting([look(() => world.clock, 2)], LOOK);
  await world.run();
  await world.session.resume();
  expect(world.session.summary).toMatchObject({ work: 'resume' });
  expect(await world.run()).toMatchObject({ status: 'idle' });
});

test('a person may settle a call that waits for a time: its result ends the wait', async () => {
  const world: Setting = await setting([look(() => world.clock, 9)], LOOK);
  await world.run();
  const [call] = world.session.pending();
  if (!call) throw new Error('no call waits');
  expect(call.deferred?.until).toBe(world.session.summary?.wakeAt);
  await world.session.settle(call, { result: 'red' });
  expect(world.session.summary).toMatchObject({ work: 'decision' });
  expect(await world.run()).toMatchObject({ status: 'idle' });
  expect(world.texts()).toContain('red');
});

test('a cancelled wait has no wake-up, and an input that is sent later supersedes it', async () => {
  const world: Setting = await setting([look(() => world.clock, 9)], (turn) => (turn === 1 ? LOOK[0] : 'Hello.'));
  await world.run();
  await world.session.cancel();
  expect(world.session.summary?.wakeAt).toBeUndefined();
  world.clock.advance(MINUTE * 60);
  expect(await world.run()).toMatchObject({ status: 'suspended', responses: [{ reason: 'CANCELLED' }] });
  await world.session.send('Never mind.');
  expect(world.session.summary).toMatchObject({ work: 'input' });
});

test('a timer in a child conversation suspends its parent until that time', async () => {
  const child = definePrompt({
    ns: 'test',
    key: 'child',
    instructions: 'Look.',
    tools: [look(() => world.clock, 2)],
  });
  const world: Setting = await setting(
    [defineSubagent({ name: 'delegate', description: 'Delegates', prompt: child })],
    (turn, key) => {
      if (turn > 1) return `${key} is done.`;
      return {
        toolCalls: [
          key === 'child' ? { name: 'look', arguments: {} } : { name: 'delegate', arguments: { task: 'Go.' } },
        ],
      };
    },
  );
  const wakeAt = new Date(world.clock.now() + 30 * MINUTE).toISOString();
  expect(await world.run()).toMatchObject({ status: 'suspended', responses: [{ reason: 'TIMER_PENDING', wakeAt }] });
  expect(world.session.summary).toMatchObject({ wakeAt });
  world.clock.advance(30 * MINUTE);
  expect(await world.run()).toMatchObject({ status: 'idle' });
  expect(world.texts()).toContain('child is done.');
});

test('a provider that refuses for minutes suspends the evaluation until then, and receives one request then and none before', async () => {
  let asked = 0;
  const world: Setting = await setting([], () => {
    asked++;
    return asked === 1 ? { error: { status: 429, retryAfterMs: 5 * MINUTE } } : 'Here I am.';
  });
  const wakeAt = new Date(world.clock.now() + 5 * MINUTE).toISOString();
  expect(await world.run()).toMatchObject({
    status: 'suspended',
    responses: [{ reason: 'PROVIDER_FAILED', failure: { status: 429 }, wakeAt }],
  });
  expect(world.session.summary).toMatchObject({ wakeAt });
  expect(await world.run()).toMatchObject({ status: 'suspended', responses: [{ wakeAt }] });
  expect(asked).toBe(1);
  world.clock.advance(5 * MINUTE);
  expect(await world.run()).toMatchObject({ status: 'idle' });
  expect(asked).toBe(2);
});

test('whatever steps the clock takes, each timer fires exactly once and not before its time', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 4 }),
      async (advances, minutes) => {
        const fired = new Map<number, number>();
        const tools = minutes.map((_, i) =>
          defineTool({
            name: `wait_${i}`,
            description: 'Waits',
            input,
            effect: 'idempotent',
            execute: (__, { attempt }) => {
              if (attempt === 1) return suspendUntil(Date.UTC(2026, 0, 1) + (minutes[i] ?? 0) * MINUTE);
              expect(world.clock.now()).toBeGreaterThanOrEqual(Date.UTC(2026, 0, 1) + (minutes[i] ?? 0) * MINUTE);
              fired.set(i, (fired.get(i) ?? 0) + 1);
              return 'fired';
            },
          }),
        );
        const calls = minutes.map((_, i) => ({ name: `wait_${i}`, arguments: {} }));
        const world: Setting = await setting(tools, [{ toolCalls: calls }, 'Done.']);
        for (const advance of [0, ...advances, 60]) {
          world.clock.advance(advance * MINUTE);
          await world.run();
        }
        expect([...fired.values()]).toEqual(minutes.map(() => 1));
        expect(world.session.summary?.status).toBe('completed');
      },
    ),
    { numRuns: 40 },
  );
});
