import { describe, expect, test } from 'vitest';
import type { HistoryCurated } from '../../src/core/log/events.ts';
import type { CurationContext, History } from '../../src/history/history-manager.ts';
import { replayCuration } from '../../src/history/inspect/replay-curation.ts';
import { clearToolResults } from '../../src/history/managers/clear-tool-results.ts';
import { compose } from '../../src/history/managers/compose.ts';
import { keepImportant } from '../../src/history/managers/keep-important.ts';
import { observe } from '../../src/history/managers/observe.ts';
import { passthrough } from '../../src/history/managers/passthrough.ts';
import { pin } from '../../src/history/managers/pin.ts';
import { slidingWindow } from '../../src/history/managers/sliding-window.ts';
import { summarize } from '../../src/history/managers/summarize.ts';
import { tokenBudget } from '../../src/history/managers/token-budget.ts';
import { truncateToolResults } from '../../src/history/managers/truncate-tool-results.ts';
import {
  type ConversationMessage,
  type ModelRequest,
  memoryStore,
  openSession,
  type ScriptedTurn,
  type Session,
  type Store,
} from '../../src/index.ts';
import { type Agent, agent, call, tool } from '../loop/agent.ts';

const TURNS = 16;
const managers: readonly { name: string; make: () => History }[] = [
  { name: 'none', make: () => passthrough() },
  { name: 'a sliding window', make: () => slidingWindow({ size: 4 }) },
  { name: 'a folding window', make: () => slidingWindow({ size: 6, low: 2 }) },
  { name: 'truncated results', make: () => truncateToolResults({ maxLength: 24, suffix: '…' }) },
  { name: 'cleared results', make: () => clearToolResults({ size: 5, low: 2, note: '-' }) },
  { name: 'a token budget', make: () => tokenBudget({ max: 220 }) },
  { name: 'what matters', make: () => keepImportant({ size: 5, low: 3, score: (group) => group.length }) },
  { name: 'a summary', make: () => summarize({ size: 5, low: 2 }) },
  { name: 'a summary that is made ahead', make: () => summarize({ size: 5, low: 3, ahead: 1 }) },
  { name: 'pins', make: () => compose(pin({ tools: ['look'], last: 2 }), slidingWindow({ size: 3 })) },
  { name: 'observed', make: () => observe(slidingWindow({ size: 4, low: 2 }), () => {}) },
  {
    name: 'a composition',
    make: () =>
      compose(
        truncateToolResults({ maxLength: 30, suffix: '…' }),
        summarize({ size: 6, low: 3 }),
        tokenBudget({ max: 400 }),
      ),
  },
  { name: 'a function', make: () => (messages) => messages.slice(-7) },
];

/** Turns with one call or two in parallel, some of which fail; a summary names its messages. */
function script({ turn, prompt, messages }: ModelRequest): ScriptedTurn {
  if (prompt.ns === 'holdfast') return `a summary of ${JSON.stringify(messages.at(-1)?.content).length} characters`;
  if (turn > TURNS) return 'done';
  const calls = turn % 3 === 0 ? [call('work', { turn }), call('look', { turn })] : [call('work', { turn })];
  return { text: `turn ${turn}`, toolCalls: calls };
}

const tools = [
  tool('work', (input) => {
    if ((input as { turn: number }).turn % 5 === 0) throw new Error('it did not work');
    return `worked on ${JSON.stringify(input)} and said a few words about it`;
  }),
  tool('look', () => 'seen', { effect: 'read' }),
];

const start = (store: Store): Promise<Agent> => agent({ script, tools, store });

/** The content of a request, without ids and times, which differ between runs. */
function saying(requests: readonly Pick<ModelRequest, 'messages'>[]): readonly unknown[] {
  return requests.map(({ messages }) =>
    messages.map(({ id: _, evaluationId: __, createdAt: ___, ...message }) => message),
  );
}
const turns = ({ requests }: Agent): readonly ModelRequest[] =>
  requests.filter(({ prompt }) => prompt.ns !== 'holdfast');

test('a manager sees the prompt of the request and its tools, and cannot change them', async () => {
  const prompts: CurationContext['prompt'][] = [];
  const one = await start(memoryStore());
  await one.evaluate({
    history: (messages, { prompt }) => {
      prompts.push(prompt);
      return messages;
    },
  });
  expect(prompts[0]).toEqual({
    ...{ ns: 'test', key: 'agent', name: 'test/agent', instructions: one.prompt.instructions },
    tools: tools.map(({ name, description }) => ({ name, description })),
  });
  expect(Object.isFrozen(prompts[0]?.tools[0])).toBe(true);
  expect(new Set(prompts).size).toBe(1);
});

describe.for(managers)('the loop with $name', ({ make }) => {
  test('the session has every message, and every request can be rebuilt from the log (D35)', async () => {
    const store = memoryStore();
    const one = await start(store);
    const { evaluationId } = await one.evaluate({ history: make() });
    const recorded = one.session.messages({ evaluationId });
    expect(recorded.filter(({ role }) => role === 'assistant')).toHaveLength(TURNS + 1);
    expect(recorded.filter(({ role }) => role === 'tool')).toHaveLength(TURNS + Math.floor(TURNS / 3));
    expect(recorded.map(({ sequence }) => sequence)).toEqual([...recorded.keys()]);

    const reread = await openSession({ store, id: one.session.id });
    const replay = replayCuration(reread, make());
    expect(replay.requests.map((request) => request.messages())).toEqual(turns(one).map(({ messages }) => messages));
    const events = await curated(reread);
    expect(
      replay.requests.map(({ curatedCount, estimatedTokens, prefixKept }) => ({
        curatedCount,
        estimatedTokens,
        prefixKept,
      })),
    ).toEqual(
      events.map(({ curatedCount, estimatedTokens, prefixKept }) => ({ curatedCount, estimatedTokens, prefixKept })),
    );
  });

  test('stopped after any turn and resumed by another process, it sends the requests of an uninterrupted run (I3)', async () => {
    const whole = await start(memoryStore());
    await whole.evaluate({ history: make() });
    const expected = saying(turns(whole));
    for (const stop of [1, 2, 5, 6, 9, 13]) {
      const store = memoryStore();
      const first = await start(store);
      const stopped = await first.evaluate({ history: make(), maxTurns: stop });
      expect(stopped.status).toBe('suspended');
      const second = await start(store);
      expect((await second.evaluate({ history: make(), resume: true })).status).toBe('completed');
      expect(saying([...turns(first), ...turns(second)])).toEqual(expected);
      const made = [...first.requests, ...second.requests].filter(({ prompt }) => prompt.ns === 'holdfast');
      expect(made).toHaveLength(whole.requests.length - turns(whole).length);
    }
  });
});

async function curated(session: Session): Promise<readonly HistoryCurated[]> {
  const events: HistoryCurated[] = [];
  for await (const event of session.events())
    if (event.type === 'history/curated') events.push(event as HistoryCurated);
  return events;
}

describe('the loop', () => {
  test('records each request: prompt, counts, tokens, strategy and prefix (D33)', async () => {
    const one = await start(memoryStore());
    await one.evaluate({ history: slidingWindow({ size: 4 }) });
    const events = await curated(one.session);
    expect(events).toHaveLength(TURNS + 1);
    expect(events.at(-1)).toMatchObject({
      ...{ promptName: 'test/agent', strategy: 'sliding-window(4)', turn: TURNS + 1 },
      ...{ originalCount: 2 + TURNS + TURNS + Math.floor(TURNS / 3), curatedCount: turns(one).at(-1)?.messages.length },
    });
  });

  test('reports what it repaired, and never sends what a manager broke (D32)', async () => {
    const one = await start(memoryStore());
    await one.evaluate({ history: (messages) => messages.filter(({ role }) => role !== 'system').toReversed() });
    const [, second] = await curated(one.session);
    expect(second?.repairs?.join()).toMatch(/system-lost/);
    expect(second?.repairs?.join()).toMatch(/reordered/);
  });

  test('a conversation over several evaluations keeps its window, and replays as it was sent (D50)', async () => {
    const store = memoryStore();
    const chat = await agent({ script: ({ messages }) => `answer ${messages.length}`, store });
    const history = slidingWindow({ size: 6, low: 3 });
    for (let i = 0; i < 12; i++) await chat.evaluate({ input: `question ${i}`, continues: true, history });
    const sent = chat.requests.map(({ messages }) => messages);
    expect(Math.max(...sent.map((messages) => messages.length))).toBeLessThanOrEqual(8);
    const reread = await openSession({ store, id: chat.session.id });
    const replayed = replayCuration(reread, slidingWindow({ size: 6, low: 3 })).requests;
    const texts = (messages: readonly ConversationMessage[]): readonly unknown[] =>
      messages.map(({ content }) => content);
    expect(replayed.map((request) => texts(request.messages()))).toEqual(sent.map(texts));
  });
});
