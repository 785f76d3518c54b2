/** The required tests of a history manager, one by one; other files in this folder test the details. */
import { describe, expect, test } from 'vitest';
import type { HistoryManager } from '../../src/history/history-manager.ts';
import { compose } from '../../src/history/managers/compose.ts';
import { passthrough } from '../../src/history/managers/passthrough.ts';
import { slidingWindow } from '../../src/history/managers/sliding-window.ts';
import { truncateToolResults } from '../../src/history/managers/truncate-tool-results.ts';
import { type ConversationMessage, memoryStore, openSession, type Session, textOf } from '../../src/index.ts';
import { type Agent, agent, call, tool } from '../loop/agent.ts';
import { Conversation, shapeOf } from './conversation.ts';

const result = 'x'.repeat(3000);
async function run(history: HistoryManager): Promise<Agent> {
  const one = await agent({
    script: ({ turn }) => (turn <= 4 ? { toolCalls: [call('read', {}, `r${turn}`)] } : 'done'),
    tools: [tool('read', () => result, { effect: 'read' })],
  });
  await one.evaluate({ history });
  await one.evaluate({ history, input: 'Again.' });
  return one;
}

describe('"Unit tests for each built-in manager with various message configurations"', () => {
  const configurations: readonly { name: string; messages: readonly ConversationMessage[] }[] = [
    { name: 'only a system message', messages: new Conversation().system('s').messages },
    { name: 'a question and a response', messages: new Conversation().system('s').user('q').says('a').messages },
    {
      name: 'a tool loop',
      messages: new Conversation().system('s').user('q').calls('a').calls('b', 'c').says('d').messages,
    },
    { name: 'many questions', messages: new Conversation().user('q').says('a').user('q').says('a').user('q').messages },
  ];
  test.for(configurations)('passthrough, window, truncator and composition over $name', ({ messages }) => {
    expect(passthrough().curate(messages, {}).messages).toEqual(messages);
    expect(slidingWindow({ size: messages.length }).curate(messages, {}).messages).toEqual(messages);
    expect(truncateToolResults().curate(messages, {}).messages).toEqual(messages);
    expect(compose(passthrough(), slidingWindow({ size: 99 })).curate(messages, {}).messages).toEqual(messages);
  });
});

test('"Tests for semantic coherence: orphaned tool results are removed"', () => {
  const { messages } = new Conversation().system('s').user('q').calls('a').result('orphan').calls('b').says('c');
  expect(shapeOf(slidingWindow({ size: 3 }).curate(messages, {}).messages)).toBe('system user ask(a) a ask(b) b says');
  expect(shapeOf(slidingWindow({ size: 2 }).curate(messages, {}).messages)).toBe('system user ask(b) b says');
});

test('"Tests for composition: multiple managers chain correctly"', () => {
  const { messages } = new Conversation().system('s').user('q').calls('a').asks('b').result('b', result);
  const history = compose(truncateToolResults({ maxLength: 1000 }), slidingWindow({ size: 1 }));
  const sent = history.curate(messages, {}).messages;
  expect(shapeOf(sent)).toBe('system user ask(b) b');
  expect(textOf(sent.at(-1) ?? { content: [] })).toHaveLength(1000);
});

describe('"Tests for edge cases"', () => {
  test('"empty messages"', () => {
    for (const manager of [passthrough(), slidingWindow({ size: 3 }), truncateToolResults(), compose()]) {
      expect(manager.curate([], {}).messages).toEqual([]);
    }
  });
  test('"no system message"', () => {
    const { messages } = new Conversation().user('q').calls('a').calls('b').calls('c');
    expect(shapeOf(slidingWindow({ size: 2 }).curate(messages, {}).messages)).toBe('user ask(b) b ask(c) c');
  });
  test('"window of zero"', () => {
    const { messages } = new Conversation().system('s').user('q').calls('a').calls('b');
    expect(shapeOf(slidingWindow({ size: 0 }).curate(messages, {}).messages)).toBe('system user ask(b) b');
  });
});

test('"Integration tests verifying ConversationRunner uses the manager correctly": just before each request', async () => {
  const seen: string[] = [];
  const watching: HistoryManager = {
    name: 'watching',
    curate: (messages, { session }) => {
      seen.push(`${(session as Session).id} ${messages.length}`);
      return { messages: [...messages.slice(0, 2), ...messages.slice(-2)] };
    },
  };
  const { requests } = await run(watching);
  expect(seen.filter((_, i) => i < 5)).toEqual([2, 4, 6, 8, 10].map((length) => `session ${length}`));
  expect(requests.map(({ messages }) => shapeOf(messages))).toEqual([
    ...[
      'system user',
      'system user ask(r1) r1',
      'system user ask(r2) r2',
      'system user ask(r3) r3',
      'system user ask(r4) r4',
    ],
    ...[
      'system user',
      'system user ask(r1) r1',
      'system user ask(r2) r2',
      'system user ask(r3) r3',
      'system user ask(r4) r4',
    ],
  ]);
});

test('"Tests for ConversationEntry serialization round-trip"', async () => {
  const store = memoryStore();
  const one = await agent({ script: ['done'], store });
  await one.evaluate();
  const messages = one.session.messages();
  expect(JSON.parse(JSON.stringify(messages))).toEqual(messages);
  expect((await openSession({ store, id: one.session.id })).messages()).toEqual(messages);
});

test('"Tests verifying session records complete history even when manager curates"', async () => {
  const { session, requests } = await run(compose(truncateToolResults({ maxLength: 50 }), slidingWindow({ size: 1 })));
  expect(Math.max(...requests.map(({ messages }) => messages.length))).toBe(4);
  const messages = session.messages();
  expect(messages).toHaveLength(2 * (2 + 4 * 2 + 1));
  expect(messages.filter(({ role }) => role === 'tool').every((message) => textOf(message) === result)).toBe(true);
});

test('"Tests for evaluation_id correlation: all entries from one evaluate() share ID"', async () => {
  const { session } = await run(slidingWindow({ size: 1 }));
  const evaluations = session.state.record.evaluations.items.map(({ id }) => id);
  expect(evaluations).toHaveLength(2);
  for (const id of evaluations) {
    expect(session.messages({ evaluationId: id })).toHaveLength(11);
    expect(new Set(session.messages({ evaluationId: id }).map(({ evaluationId }) => evaluationId))).toEqual(
      new Set([id]),
    );
  }
});

test('"Tests for sequence ordering within an evaluation"', async () => {
  const { session } = await run(slidingWindow({ size: 1 }));
  for (const { id } of session.state.record.evaluations.items) {
    expect(session.messages({ evaluationId: id }).map(({ sequence }) => sequence)).toEqual([...Array(11).keys()]);
  }
});
