import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { HistoryCurated } from '../../src/core/log/events.ts';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { countTokens } from '../../src/history/token-counts.ts';
import { type History, slidingWindow, summarize } from '../../src/history.ts';
import {
  defineTool,
  type ModelRequest,
  memoryStore,
  openSession,
  type ScriptedTurn,
  type Session,
  scriptedModel,
  textOf,
} from '../../src/index.ts';
import { STORES } from '../session/stores.ts';
import { type Agent, type AgentOptions, agent, call, eventTypes, tool } from './agent.ts';
import { Life, World } from './mortal.ts';

/** Requests that a provider refuses as too long. */

const TURNS = 12;
const refusal: ScriptedTurn = { error: { status: 400, message: 'prompt is too long: 2 tokens > 1 maximum' } };

const tokensIn = ({ messages }: ModelRequest): number =>
  messages.reduce((sum, message) => sum + countTokens(message), 0);

/** A script of several turns, for a model with this token limit. */
const reading =
  (window: number) =>
  (request: ModelRequest): ScriptedTurn => {
    if (request.prompt.ns === 'holdfast') return 'what happened before';
    if (tokensIn(request) > window) return refusal;
    return request.turn > TURNS ? 'done' : { toolCalls: [call('work', { turn: request.turn })] };
  };

const work = tool('work', (input) => `worked on ${JSON.stringify(input)} and ${'said a few words '.repeat(10)}`, {
  effect: 'read',
});

const worker = (window: number, options: Partial<AgentOptions> = {}): Promise<Agent> =>
  agent({ script: reading(window), tools: [work], ...options });

async function curated(session: Session): Promise<readonly HistoryCurated[]> {
  const events: HistoryCurated[] = [];
  for await (const event of session.events({ types: ['history/curated'] })) events.push(event as HistoryCurated);
  return events;
}

const histories: readonly { readonly name: string; readonly history?: History }[] = [
  { name: 'no history manager' },
  { name: 'a window that is too wide', history: slidingWindow({ size: 40, low: 20 }) },
  { name: 'summaries that come too late', history: summarize({ size: 40, low: 20 }) },
  { name: 'a function', history: (messages) => messages },
];

describe.each(STORES)('on %s', (_, open) => {
  test.for(histories)(
    'with $name, a request that is too long is cut and sent again once; the log has both',
    async ({ history }) => {
      const one = await worker(400, { store: await open() });
      const response = await one.evaluate({ ...(history && { history }) });
      expect(response).toMatchObject({ status: 'completed', text: 'done', turns: TURNS + 1 });
      const refused = one.requests.filter((request) => tokensIn(request) > 400);
      expect(refused).toHaveLength(1); // later requests respect the learned limit
      const [long] = refused;
      const again = one.requests[one.requests.indexOf(long as ModelRequest) + 1];
      expect(again?.turn).toBe(long?.turn);
      expect(tokensIn(again as ModelRequest)).toBeLessThanOrEqual(tokensIn(long as ModelRequest) / 2);
      for (const { messages } of one.requests) expect(messages.map(textOf)).toContain('Please.');

      const events = await curated(one.session);
      const recorded = events.filter((event) => event.refused);
      const maxTokens = Math.floor(tokensIn(long as ModelRequest) / 2);
      expect(recorded).toMatchObject([
        {
          turn: long?.turn,
          curatedCount: long?.messages.length,
          refused: { model: 'scripted', maxTokens, status: 400, message: expect.stringContaining('too long') },
        },
      ]);
      const sent = events.find(({ turn, refused }) => turn === long?.turn && !refused);
      expect(sent).toMatchObject({ curatedCount: again?.messages.length, maxTokens });
    },
  );

  test('refused again, it is suspended with advice; resuming sends a shorter request', async () => {
    const store = await open();
    const messages = [...'abcdefghijkl'].map((letter) => `${letter} `.repeat(200));
    const first = await agent({ script: () => 'noted', store });
    let continues: string | undefined;
    for (const input of messages) {
      ({ evaluationId: continues } = await first.evaluate({ input, ...(continues && { continues }) }));
    }
    const window = 700; // less than a third of the total
    const second = await agent({ script: reading(window), store });
    const options = { input: 'And now?', continues: continues ?? true };
    const response = await second.evaluate(options);
    expect(response).toMatchObject({
      status: 'suspended',
      reason: 'PROVIDER_FAILED',
      failure: { provider: 'scripted', status: 400 },
      message: expect.stringMatching(/too long.*maximum.*history manager.*limits\.maxTokens/s),
    });
    expect(second.requests).toHaveLength(2);
    const sizes = second.requests.map(tokensIn);
    for (let i = 0; i < 4; i++) {
      const resumed = await agent({
        script: ({ messages }) => (tokensIn({ messages } as ModelRequest) > window ? refusal : 'fits'),
        store,
      });
      const { status } = await resumed.evaluate({ ...options, resume: true });
      sizes.push(...resumed.requests.map(tokensIn));
      expect(resumed.requests).toHaveLength(1);
      if (status === 'completed') break;
    }
    expect(sizes.at(-1)).toBeLessThanOrEqual(window);
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    expect(new Set(sizes).size).toBe(sizes.length);
  });
});

test('a request that cannot be cut is not sent again', async () => {
  const one = await worker(100);
  const input = 'word '.repeat(500);
  expect(await one.evaluate({ input })).toMatchObject({ status: 'suspended', reason: 'PROVIDER_FAILED' });
  expect(one.requests).toHaveLength(1);
  expect((await eventTypes(one.session)).slice(-2)).toEqual(['history/curated', 'evaluation/suspended']);
});

test('an evaluation that continues respects the limit; another model does not', async () => {
  const store = memoryStore();
  const first = await worker(400, { store });
  const { evaluationId } = await first.evaluate();
  const second = await agent({ script: reading(400), tools: [work], store });
  await second.evaluate({ input: 'More.', continues: evaluationId });
  expect(second.requests.filter((request) => tokensIn(request) > 400)).toEqual([]);
  expect(second.requests[0]?.messages.map(textOf)).toEqual(expect.arrayContaining(['Please.', 'More.']));
  const large = scriptedModel(() => 'read all of it', { modelId: 'large' });
  const third = await agent({ script: large, tools: [work], store });
  await third.evaluate({ input: 'And?', continues: evaluationId });
  expect(tokensIn(third.requests[0] as ModelRequest)).toBeGreaterThan(800);
});

test('lower limits of the caller apply', async () => {
  const one = await worker(400);
  await one.evaluate({ limits: { maxTokens: 150 } });
  expect(one.requests.filter((request) => tokensIn(request) > 400)).toEqual([]);
  expect((await curated(one.session)).filter(({ refused }) => refused)).toEqual([]);
});

test('in a child conversation, too', async () => {
  const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Work.', tools: [work] });
  const delegate = defineTool({
    name: 'delegate',
    description: 'Asks another agent',
    input: z.looseObject({}),
    effect: 'idempotent',
    execute: async (_, context) => (await context.evaluate(child, { input: 'Please.' })).text,
  });
  const script = (request: ModelRequest): ScriptedTurn => {
    if (request.prompt.key === 'child') return reading(400)(request);
    return request.turn === 1 ? { toolCalls: [call('delegate')] } : 'delegated';
  };
  const one = await agent({ script, tools: [delegate] });
  expect(await one.evaluate()).toMatchObject({ status: 'completed', text: 'delegated' });
  expect(one.requests.filter((request) => tokensIn(request) > 400)).toHaveLength(1);
});

test('I3: killed at any write, the refused request is not sent again once its refusal is recorded', async () => {
  const LEASE_MS = 30_000;
  const live = async (life: Life, asked: (request: ModelRequest) => void): Promise<'died' | 'done'> => {
    const prompt = definePrompt({ ns: 'test', key: 'long', instructions: 'Work.', tools: [work] });
    const model = scriptedModel((request) => {
      asked(request);
      return reading(400)(request);
    });
    const run = async (): Promise<'done'> => {
      const session = await openSession({ store: life.store, id: 'one', clock: life.clock });
      const adapter = createAdapter({ model, leaseTtlMs: LEASE_MS });
      const { status } = await adapter.evaluate(prompt, { session, input: 'Please.', resume: 'auto' });
      expect(status).toBe('completed');
      return 'done';
    };
    return Promise.race([run(), life.died]);
  };
  const shape = (request: ModelRequest): string => `${request.turn}: ${request.messages.map(textOf).join('|')}`;
  const expected: string[] = [];
  const whole = new Life(new World());
  await live(whole, (request) => expected.push(shape(request)));
  for (let crashAt = 1; crashAt <= whole.passed; crashAt++) {
    const world = new World();
    const asked: ModelRequest[] = [];
    const refusals = async (): Promise<number> => {
      let count = 0;
      for await (const event of world.store.read('one')) {
        if (event.type === 'history/curated' && (event as HistoryCurated).refused) count++;
      }
      return count;
    };
    expect(await live(new Life(world, crashAt), (request) => asked.push(request))).toBe('died');
    const recorded = await refusals();
    const before = asked.length;
    world.clock.advance(LEASE_MS + 1);
    expect(await live(new Life(world), (request) => asked.push(request))).toBe('done');
    const again = asked.slice(before).filter((request) => tokensIn(request) > 400);
    if (recorded > 0) expect(again).toEqual([]);
    expect(await refusals()).toBe(1);
    expect([...new Set(asked.map(shape))].sort()).toEqual([...new Set(expected)].sort());
  }
});
