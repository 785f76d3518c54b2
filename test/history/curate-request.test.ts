import { describe, expect, test } from 'vitest';
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import { curateRequest } from '../../src/history/curate-request.ts';
import type { History } from '../../src/history/history-manager.ts';
import { compose } from '../../src/history/managers/compose.ts';
import { passthrough } from '../../src/history/managers/passthrough.ts';
import { pin } from '../../src/history/managers/pin.ts';
import { slidingWindow } from '../../src/history/managers/sliding-window.ts';
import { tokenBudget } from '../../src/history/managers/token-budget.ts';
import { truncateToolResults } from '../../src/history/managers/truncate-tool-results.ts';
import { countTokens } from '../../src/history/token-counts.ts';
import { Conversation, shapeOf } from './conversation.ts';

const talk = (turns: number): Conversation => {
  const build = new Conversation().system('Be brief.').user('hello');
  for (let i = 0; i < turns; i++) build.calls(`c${i}`);
  return build;
};

describe('the record of a request (D33)', () => {
  test('has strategy, counts, tokens and the share of the previous request that it starts with', () => {
    const { messages } = talk(10);
    const history = slidingWindow({ size: 4 });
    const first = curateRequest({ history, messages: messages.slice(0, -2) });
    const { record, messages: sent } = curateRequest({ history, messages, previous: first });
    expect(record).toEqual({
      strategy: 'sliding-window(4)',
      originalCount: 22,
      curatedCount: 10,
      estimatedTokens: sent.reduce((sum, message) => sum + countTokens(message), 0),
      prefixKept: 2 / 10,
    });
  });

  test('the first request has a kept share of 1', () => {
    expect(curateRequest({ messages: talk(0).messages }).record.prefixKept).toBe(1);
  });

  test('a growing conversation starts with the previous request', () => {
    const { messages } = talk(10);
    const previous = curateRequest({ messages: messages.slice(0, -2) });
    expect(curateRequest({ messages, previous }).record).toMatchObject({ strategy: 'passthrough', prefixKept: 1 });
  });

  test('equal messages count as kept even if a manager copies them', () => {
    const history: History = (given) => given.map((message) => structuredClone(message));
    const { messages } = talk(3);
    const previous = curateRequest({ history, messages: messages.slice(0, -2) });
    expect(curateRequest({ history, messages, previous }).record.prefixKept).toBe(1);
  });

  test('has the name of a function as strategy', () => {
    const newestFive: History = (given) => given.slice(-5);
    expect(curateRequest({ history: newestFive, messages: talk(3).messages }).record.strategy).toBe('newestFive');
    expect(curateRequest({ history: (given) => given, messages: [] }).record.strategy).toBe('history');
  });
});

describe('a request', () => {
  test('is a separate list: the conversation may grow', () => {
    const build = talk(3);
    for (const history of [
      passthrough(),
      slidingWindow({ size: 9 }),
      (given: readonly ConversationMessage[]) => given,
    ]) {
      const { messages } = curateRequest({ history, messages: build.messages });
      const { length } = messages;
      build.calls('more');
      expect(messages).toHaveLength(length);
    }
  });

  test('has a result for every call and reports it, even if the record has none', () => {
    const { messages, repairs } = curateRequest({ messages: talk(1).asks('x', 'y').result('y').messages });
    expect(shapeOf(messages)).toBe('system user ask(c0) c0 ask(x,y) (x) y');
    expect(repairs).toMatchObject([{ code: 'call-without-result', callId: 'x' }]);
  });

  test('has no results without calls and no empty messages', () => {
    const build = talk(1).result('c0', 'again').user(' ').result('z').says('done');
    const { messages, repairs } = curateRequest({ messages: build.messages });
    expect(shapeOf(messages)).toBe('system user ask(c0) c0 says');
    expect(repairs.map(({ code }) => code)).toEqual(['duplicate-result', 'result-without-call', 'empty-content']);
  });

  test('has results in call order without reporting it: that is the normal order (D10)', () => {
    const { messages, repairs } = curateRequest({ messages: talk(0).asks('a', 'b').result('b').result('a').messages });
    expect(shapeOf(messages)).toBe('system user ask(a,b) a b');
    expect(repairs).toEqual([]);
  });

  test('an empty conversation is an empty request', () => {
    expect(curateRequest({ messages: [] }).messages).toEqual([]);
    expect(
      curateRequest({ messages: [], history: compose(slidingWindow({ size: 0 }), tokenBudget({ max: 1 })) }).messages,
    ).toEqual([]);
  });

  test("is within the caller's limit, whatever the manager returns", () => {
    const { messages } = talk(100);
    for (const history of [
      passthrough(),
      slidingWindow({ size: 90 }),
      compose(pin({ last: 2 }), slidingWindow({ size: 80 })),
    ]) {
      const { record, repairs } = curateRequest({ history, messages, context: { limits: { maxTokens: 500 } } });
      expect(record.estimatedTokens).toBeLessThanOrEqual(500);
      expect(repairs.map(({ code }) => code)).toEqual(['over-budget']);
    }
    expect(curateRequest({ messages, context: { limits: { maxTokens: 1e6 } } }).repairs).toEqual([]);
  });
});

describe('cached results do not change a request', () => {
  const histories: readonly History[] = [
    slidingWindow({ size: 6 }),
    compose(truncateToolResults(), slidingWindow({ size: 6 })),
    passthrough(),
    tokenBudget({ max: 300 }),
    (given) => given.slice(-7),
    compose(slidingWindow({ size: 9 }), (given) => given.slice(-7)),
  ];
  test.for([...histories.keys()])('an erased message is not sent in its old form (manager %i)', (which) => {
    const history = histories[which] as History;
    const build = talk(20);
    const previous = curateRequest({ history, messages: build.messages });
    const at = build.messages.length - 3;
    const erased = { ...build.messages[at], content: [{ type: 'text', text: '[erased]' }] } as ConversationMessage;
    const { messages } = curateRequest({ history, messages: build.messages.with(at, erased), previous });
    expect(messages.map(({ content }) => content)).toContainEqual(erased.content);
    expect(messages).not.toContain(build.messages[at]);
  });

  test('an erased result that came late is not sent in its old form', () => {
    const build = talk(1).asks('x').user('wait').result('x', 'secret').calls('y').user('and?').calls('z');
    const at = build.messages.findIndex(
      ({ role, content }) => role === 'tool' && JSON.stringify(content).includes('secret'),
    );
    const history = compose(pin({ tools: ['tool_x'] }), slidingWindow({ size: 1 }));
    const previous = curateRequest({ history, messages: build.messages });
    expect(shapeOf(previous.messages)).toBe('system user ask(x) x user ask(z) z');
    expect(JSON.stringify(previous.messages)).toContain('secret');
    const erased = { ...build.messages[at], content: [{ type: 'text', text: '[erased]' }] } as ConversationMessage;
    const { messages } = curateRequest({ history, messages: build.messages.with(at, erased), previous });
    expect(JSON.stringify(messages)).not.toContain('secret');
  });

  test('the previous result of another manager, or for another conversation, changes nothing', () => {
    const { messages } = talk(20);
    const previous = curateRequest({ history: slidingWindow({ size: 2 }), messages: talk(30).messages });
    for (const history of [slidingWindow({ size: 5 }), slidingWindow({ size: 2 })]) {
      const alone = curateRequest({ history, messages });
      expect(curateRequest({ history, messages, previous }).messages).toEqual(alone.messages);
    }
    const memo = { stage: 'mine', index: [], state: 7 };
    const history = slidingWindow({ size: 3 });
    expect(history.curate(messages, { previous: { messages: [], memo } }).messages).toEqual(
      history.curate(messages, {}).messages,
    );
  });
});
