import { describe, expect, test } from 'vitest';
import { HoldfastError } from '../../src/core/errors.ts';
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import { passthrough } from '../../src/history/managers/passthrough.ts';
import { slidingWindow } from '../../src/history/managers/sliding-window.ts';
import { Conversation, groupsOf, shapeOf } from './conversation.ts';

const sent = (options: Parameters<typeof slidingWindow>[0], { messages }: Conversation): string =>
  shapeOf(slidingWindow(options).curate(messages, {}).messages);
const chat = (): Conversation => new Conversation().system('Be brief.').user('hello');

describe('slidingWindow counts atomic groups (D31)', () => {
  const talk = (): Conversation => chat().calls('a', 'b').calls('c').says('one').user('more').calls('d').says('two');
  const cases: readonly {
    name: string;
    options: Parameters<typeof slidingWindow>[0];
    from: Conversation;
    expected: string;
  }[] = [
    {
      name: 'all fit',
      options: { size: 7 },
      from: talk(),
      expected: 'system user ask(a,b) a b ask(c) c says user ask(d) d says',
    },
    {
      name: 'the first user message stays outside the window',
      options: { size: 3 },
      from: talk(),
      expected: 'system user user ask(d) d says',
    },
    {
      name: 'a group is kept with its results',
      options: { size: 5 },
      from: talk(),
      expected: 'system user ask(c) c says user ask(d) d says',
    },
    {
      name: 'the newest user message stays outside the window',
      options: { size: 2 },
      from: talk(),
      expected: 'system user user ask(d) d says',
    },
    {
      name: 'size 0 keeps system, first user, newest user and the newest group',
      options: { size: 0 },
      from: talk(),
      expected: 'system user user says',
    },
    {
      name: 'size 0, while a tool loop runs',
      options: { size: 0 },
      from: chat().calls('a').calls('b', 'c'),
      expected: 'system user ask(b,c) b c',
    },
    {
      name: 'no system message',
      options: { size: 1 },
      from: new Conversation().user('a').says('b').user('c'),
      expected: 'user user',
    },
    {
      name: 'no user message',
      options: { size: 1 },
      from: new Conversation().system('x').says('a').says('b'),
      expected: 'system says',
    },
    {
      name: 'several leading system messages',
      options: { size: 0 },
      from: new Conversation().system('x').system('y').user('a').says('b'),
      expected: 'system system user says',
    },
    {
      name: 'newer instructions',
      options: { size: 0 },
      from: chat().says('a').system('In French.').user('b').says('c'),
      expected: 'system user system user says',
    },
    {
      name: 'newer instructions after the newest user message',
      options: { size: 0 },
      from: chat().says('a').user('b').system('In French.').calls('c').calls('d'),
      expected: 'system user user system ask(d) d',
    },
    { name: 'nothing', options: { size: 3 }, from: new Conversation(), expected: '' },
    { name: 'only the system message', options: { size: 0 }, from: new Conversation().system('x'), expected: 'system' },
    {
      name: 'results that finished out of order are in call order',
      options: { size: 1 },
      from: chat().calls('a').asks('b', 'c').result('c').result('b'),
      expected: 'system user ask(b,c) b c',
    },
    {
      name: 'a message sent while a tool ran is after the result',
      options: { size: 2 },
      from: chat().calls('a').asks('b').user('wait').result('b'),
      expected: 'system user ask(b) b user',
    },
    {
      name: 'a result without a call belongs to no group',
      options: { size: 2 },
      from: chat().calls('a').user('x').result('z').says('b'),
      expected: 'system user user says',
    },
    {
      name: 'a pending call does not change',
      options: { size: 1 },
      from: chat().calls('a').asks('b'),
      expected: 'system user ask(b)',
    },
  ];
  test.for(cases)('$name', ({ options, from, expected }) => expect(sent(options, from)).toBe(expected));

  test('at the size nothing is dropped, and the same array is returned', () => {
    const { messages } = talk();
    expect(slidingWindow({ size: 7 }).curate(messages, {}).messages).toBe(messages);
    expect(passthrough().curate(messages, {}).messages).toBe(messages);
  });

  test('messages that the caller preserves stay', () => {
    const { messages } = talk();
    const window = slidingWindow({ size: 1 });
    const of = (preserve: object): string => shapeOf(window.curate(messages, { preserve }).messages);
    expect(of({ messages: [messages[3]?.id] })).toBe('system user ask(a,b) a b user says');
    expect(of({ tools: ['tool_c'] })).toBe('system user ask(c) c user says');
    expect(of({ last: 4 })).toBe('system user user ask(d) d says');
    expect(of({ last: 100 })).toBe(shapeOf(messages));
  });
});

describe('a window with a low mark folds', () => {
  const windows = (options: Parameters<typeof slidingWindow>[0], turns: number): readonly number[] => {
    const build = chat();
    return Array.from({ length: turns }, (_, i) => {
      build.calls(`c${i}`);
      const { messages } = slidingWindow(options).curate(build.messages, {});
      return groupsOf(messages.filter(({ role }) => role === 'assistant' || role === 'tool')).length;
    });
  };

  test('it grows to the size, drops to the low mark and grows again', () => {
    expect(windows({ size: 5, low: 2 }, 14)).toEqual([1, 2, 3, 4, 2, 3, 4, 5, 2, 3, 4, 5, 2, 3]);
  });

  test('without one it drops a group for every new one', () => {
    expect(windows({ size: 3 }, 6)).toEqual([1, 2, 3, 3, 3, 3]);
  });

  test('between two folds every request starts with the previous one', () => {
    const build = chat();
    const window = slidingWindow({ size: 20, low: 10 });
    let before: readonly ConversationMessage[] = [];
    let breaks = 0;
    for (let i = 0; i < 100; i++) {
      const { messages } = window.curate(build.calls(`c${i}`).messages, {});
      if (before.some((message, at) => messages[at] !== message)) breaks++;
      before = messages;
    }
    expect(breaks).toBe(8);
  });

  test('it folds at the same position in every process and at any time', () => {
    const build = chat();
    for (let i = 0; i < 60; i++) build.calls(`c${i}`);
    const seldom = slidingWindow({ size: 9, low: 4 });
    const previous = seldom.curate(build.messages.slice(0, 12), {});
    expect(seldom.curate(build.messages, { previous }).messages).toEqual(
      slidingWindow({ size: 9, low: 4 }).curate(build.messages, {}).messages,
    );
  });
});

describe('bad input is a typed error at construction', () => {
  test.for([
    { size: -1 },
    { size: 1.5 },
    { size: Number.NaN },
    { size: Number.POSITIVE_INFINITY },
    { size: '3' as never },
  ])('size $size', (options) => expect(() => slidingWindow(options)).toThrow(HoldfastError));
  test.for([
    { size: 3, low: 4 },
    { size: 3, low: -1 },
    { size: 3, low: 0.5 },
  ])('low $low of $size', (options) => {
    expect(() => slidingWindow(options)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});
