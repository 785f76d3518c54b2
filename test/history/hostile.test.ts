import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ConversationMessage, textOf } from '../../src/core/log/messages.ts';
import { checkCoherence } from '../../src/history/coherence/coherence.ts';
import { type CuratedRequest, curateRequest } from '../../src/history/curate-request.ts';
import type { History } from '../../src/history/history-manager.ts';
import { compose } from '../../src/history/managers/compose.ts';
import { pin } from '../../src/history/managers/pin.ts';
import { slidingWindow } from '../../src/history/managers/sliding-window.ts';
import { conversation, manager, summaries, vandalised } from './arbitraries.ts';
import { Conversation, groupsOf, shapeOf } from './conversation.ts';

/** Managers that do not return valid messages, which JavaScript allows. */
const anything = (value: unknown): readonly ConversationMessage[] => value as readonly ConversationMessage[];

const hostile: readonly { name: string; history: History }[] = [
  {
    name: 'throws',
    history: () => {
      throw new Error('no');
    },
  },
  { name: 'returns nothing', history: () => anything(undefined) },
  { name: 'returns a promise', history: (messages) => anything(Promise.resolve(messages)) },
  { name: 'returns a promise that fails', history: () => anything(Promise.reject(new Error('no'))) },
  { name: 'returns an empty list', history: () => [] },
  { name: 'drops the system message', history: (messages) => messages.slice(1) },
  { name: 'keeps only the oldest', history: (messages) => messages.slice(0, 2) },
  { name: 'keeps only results', history: (messages) => messages.filter(({ role }) => role === 'tool') },
  { name: 'drops every result', history: (messages) => messages.filter(({ role }) => role !== 'tool') },
  { name: 'reverses', history: (messages) => messages.toReversed() },
  { name: 'repeats everything', history: (messages) => [...messages, ...messages] },
  { name: 'repeats each', history: (messages) => messages.flatMap((message) => [message, message]) },
  { name: 'returns other things', history: () => anything([null, 1, 'text', {}, [], { id: 'e0-0' }, () => {}]) },
  { name: 'renames every message', history: (messages) => messages.map((one, i) => ({ ...one, id: `new-${i}` })) },
  { name: 'empties every message', history: (messages) => messages.map((one) => ({ ...one, content: [] })) },
  {
    name: 'breaks every content',
    history: (messages) => anything(messages.map((one) => ({ ...one, content: 'text' }))),
  },
  {
    name: 'breaks every part',
    history: (messages) => anything(messages.map((one) => ({ ...one, content: [{ type: 'text' }] }))),
  },
  {
    name: 'changes every role to assistant',
    history: (messages) => anything(messages.map((one) => ({ ...one, role: 'assistant' }))),
  },
  {
    name: 'invents calls',
    history: (messages) =>
      anything(messages.map((one) => ({ ...one, toolCalls: [{ callId: 'x', name: 'x', arguments: '{}' }] }))),
  },
  {
    name: 'invents a turn',
    history: (messages) => [...messages, ...new Conversation('made-up').calls('call_1').messages],
  },
  {
    name: 'marks an invented call as its own',
    history: (messages) => [
      ...messages,
      ...new Conversation('made-up')
        .calls('call_1')
        .messages.map((one) => ({ ...one, synthetic: true }) as ConversationMessage),
    ],
  },
  {
    name: 'adds messages of its own',
    history: (messages) =>
      anything([
        { id: 's1', role: 'user', synthetic: true, content: [{ type: 'text', text: 'before' }] },
        ...messages.slice(-3),
      ]),
  },
  {
    name: 'swaps results between turns',
    history: (messages) => {
      const results = messages.filter(({ role }) => role === 'tool').toReversed();
      return messages.map((one) => (one.role === 'tool' ? (results.shift() ?? one) : one));
    },
  },
  {
    name: 'empties its argument',
    history: (messages) => {
      (messages as ConversationMessage[]).length = 0;
      return messages;
    },
  },
  {
    name: 'changes a message of its argument',
    history: (messages) => {
      for (const one of messages) (one as { content: unknown }).content = [];
      return messages;
    },
  },
  { name: 'is not a manager', history: { name: 'nothing' } as unknown as History },
  { name: 'has no name', history: { curate: () => ({ messages: [] }) } as unknown as History },
  {
    name: 'returns invalid wishes',
    history: { name: 'needy', curate: (messages) => ({ messages, needs: 7, notes: {}, memo: globalThis }) as never },
  },
];

describe('a hostile manager cannot break a request (D32)', () => {
  test.for(hostile)('$name', ({ history }) => {
    fc.assert(
      fc.property(conversation(), (original) => {
        const before = JSON.stringify(original);
        const { messages } = curateRequest({ history, messages: original });
        expect(checkCoherence(messages, { original }).violations).toEqual([]);
        expectKept(original, messages);
        expect(JSON.stringify(original)).toBe(before);
        expect(curateRequest({ history, messages: structuredClone(original) }).messages).toEqual(messages);
      }),
      { numRuns: 60 },
    );
  });

  test.for(hostile)('$name, before and after other managers', ({ history }) => {
    fc.assert(
      fc.property(conversation(), manager, manager, (original, first, last) => {
        const composed = compose(first.make(), history, last.make());
        let previous: CuratedRequest | undefined;
        for (const length of [original.length >> 1, original.length]) {
          const scene = original.slice(0, Math.max(1, length));
          previous = curateRequest({
            ...{ history: composed, messages: scene, context: { summaries } },
            ...(previous && { previous }),
          });
          expect(checkCoherence(previous.messages, { original: scene }).violations).toEqual([]);
          expectKept(scene, previous.messages);
        }
      }),
      { numRuns: 40 },
    );
  });

  test('any damage', () => {
    const scene = conversation().chain((original) => vandalised(original).map((answer) => ({ original, answer })));
    fc.assert(
      fc.property(scene, ({ original, answer }) => {
        const { messages } = curateRequest({ history: () => answer, messages: original });
        expect(checkCoherence(messages, { original }).violations).toEqual([]);
        expectKept(original, messages);
      }),
      { numRuns: 500 },
    );
  });
});

/** Expects system messages and the newest group in the request. */
function expectKept(original: readonly ConversationMessage[], messages: readonly ConversationMessage[]): void {
  const ids = new Set(messages.map(({ id }) => id));
  const leading = original.slice(
    0,
    original.findIndex(({ role }) => role !== 'system'),
  );
  const [newest] = groupsOf(original).at(-1) ?? [];
  expect([...leading, newest].filter((message) => message && !ids.has(message.id))).toEqual([]);
}

describe('repairs are reported (D32)', () => {
  const { messages } = new Conversation().system('Be brief.').user('hello').calls('a', 'b').calls('c').user('and?');
  const codesOf = (history: History): readonly string[] => {
    const { repairs, record } = curateRequest({ history, messages });
    expect(record.repairs?.length ?? 0).toBe(repairs.length);
    return [...new Set(repairs.map(({ code }) => code))].sort();
  };

  const cases: readonly { name: string; history: History; codes: readonly string[] }[] = [
    { name: 'nothing to repair', history: (given) => given, codes: [] },
    { name: 'a good selection', history: (given) => [...given.slice(0, 2), ...given.slice(-3)], codes: [] },
    {
      name: 'it throws',
      history: () => {
        throw new Error('out of ideas');
      },
      codes: ['manager-failed'],
    },
    { name: 'system lost', history: (given) => given.slice(1), codes: ['system-lost'] },
    { name: 'call without result', history: (given) => given.toSpliced(3, 1), codes: ['call-without-result'] },
    { name: 'result without call', history: (given) => given.toSpliced(2, 1), codes: ['result-without-call'] },
    { name: 'newest lost', history: (given) => given.slice(0, -1), codes: ['newest-lost'] },
    { name: 'starts with a response', history: (given) => given.toSpliced(1, 1), codes: ['opening-lost'] },
    { name: 'reordered', history: (given) => given.toSpliced(5, 2).concat(given.slice(5, 7)), codes: ['reordered'] },
    { name: 'duplicated', history: (given) => given.concat(given.slice(-1)), codes: ['reordered'] },
    {
      name: 'invented',
      history: (given) => [...given, { ...(given[1] as ConversationMessage), id: 'new' }],
      codes: ['invented'],
    },
    {
      name: 'emptied',
      history: (given) => given.map((one) => (one.role === 'user' ? { ...one, content: [] } : one)),
      codes: ['empty-content', 'newest-lost', 'opening-lost'],
    },
  ];
  test.for(cases)('$name', ({ history, codes }) => expect(codesOf(history)).toEqual(codes));

  test('the error of a manager that throws is in the event', () => {
    const history: History = () => {
      throw new Error('out of ideas');
    };
    const { record, messages: sent } = curateRequest({ history, messages });
    expect(record.repairs?.join()).toContain('out of ideas');
    expect(sent).toEqual(messages);
  });

  test("a manager that throws does not remove the caller's limit", () => {
    const broken: History = () => {
      throw new Error('no');
    };
    const long = new Conversation().system('Be brief.').user('hello');
    for (let i = 0; i < 40; i++) long.calls(`c${i}`);
    const { record } = curateRequest({
      history: broken,
      messages: long.messages,
      context: { limits: { maxTokens: 300 } },
    });
    expect(record.estimatedTokens).toBeLessThanOrEqual(300);
    expect(record.repairs?.map((line) => line.split(':')[0])).toEqual(['manager-failed', 'over-budget']);
  });

  test('pinned messages are restored, whichever manager dropped them', () => {
    const history = compose(pin({ tools: ['tool_a'] }), (given) => [...given.slice(0, 2), ...given.slice(-1)]);
    const { messages: sent, repairs } = curateRequest({ history, messages });
    expect(shapeOf(sent)).toBe('system user ask(a,b) a b user');
    expect(repairs.map(({ code }) => code)).toEqual(['pinned-lost']);
  });

  test('the newest group is sent with its calls, even if the manager removed them', () => {
    const build = new Conversation().system('Be brief.').user('hello').asks('a');
    const at = build.messages.length - 1;
    build.messages[at] = {
      ...build.messages[at],
      content: [{ type: 'text', text: 'Let me see.' }],
    } as ConversationMessage;
    const { messages: sent, repairs } = curateRequest({
      messages: build.result('a').messages,
      history: (given) =>
        given
          .filter(({ role }) => role !== 'tool')
          .map((one) => (one.role === 'assistant' ? ({ ...one, toolCalls: [] } as ConversationMessage) : one)),
    });
    expect(shapeOf(sent)).toBe('system user ask(a) a');
    expect(repairs.map(({ code }) => code)).toEqual(['newest-lost']);
  });

  test('a message keeps only parts that its role may have', () => {
    const thought = { type: 'reasoning', text: 'hm' } as const;
    const { messages: sent } = curateRequest({
      messages,
      history: (given) => given.map((one) => ({ ...one, content: [...one.content, thought] }) as ConversationMessage),
    });
    const thinking = sent.filter(({ content }) => content.some((part) => part.type === 'reasoning'));
    expect(new Set(thinking.map(({ role }) => role))).toEqual(new Set(['assistant']));
  });

  test('signed reasoning stays during its turn, and may be dropped afterwards', () => {
    const thought = { type: 'reasoning', text: 'hm', signature: 'sig' } as const;
    const thinking = new Conversation().user('first');
    for (const id of ['a', 'b']) {
      thinking.calls(id);
      const at = thinking.messages.length - 2;
      thinking.messages[at] = { ...thinking.messages[at], content: [thought] } as ConversationMessage;
      if (id === 'a') thinking.user('second');
    }
    const history: History = (given) =>
      given.map((one) => (one.role === 'assistant' ? ({ ...one, content: [] } as ConversationMessage) : one));
    const { messages: sent, repairs } = curateRequest({ history, messages: thinking.messages });
    expect(sent.filter(({ role }) => role === 'assistant').map(({ content }) => content.length)).toEqual([0, 1]);
    expect(repairs.map(({ code }) => code)).toEqual(['reasoning-lost']);
  });
});

describe('a custom manager', () => {
  const { messages } = new Conversation()
    .system('Be brief.')
    .user('hello')
    .calls('a')
    .calls('b')
    .calls('c')
    .says('done');

  test('may be a plain function over the array', () => {
    const { messages: sent, record } = curateRequest({ history: (given) => given.slice(-5), messages });
    expect(shapeOf(sent)).toBe('system user ask(b) b ask(c) c says');
    expect(record.repairs).toBeDefined();
  });

  test('gets results in call order and every call with its result', () => {
    const unfinished = new Conversation().user('hello').asks('a', 'b').result('b').user('wait').result('a').asks('c');
    let seen = '';
    curateRequest({
      messages: unfinished.messages,
      history: (given) => {
        seen = shapeOf(given);
        return given;
      },
    });
    expect(seen).toBe('user ask(a,b) a b user ask(c) (c)');
  });

  test("gets its own previous result, and no other manager's", () => {
    const seen: unknown[] = [];
    const counting = {
      name: 'counting',
      curate: (given: readonly ConversationMessage[], { previous }: { previous?: { memo?: unknown } }) => {
        seen.push(previous?.memo);
        return { messages: given, memo: given.length };
      },
    };
    const history = compose(slidingWindow({ size: 50 }), counting);
    const previous = curateRequest({ history, messages: messages.slice(0, 2) });
    curateRequest({ history, messages: messages.slice(0, 4), previous });
    expect(seen).toEqual([undefined, 2]);
  });

  test('may shorten a message, and the record keeps it in full (D35)', () => {
    const before = structuredClone(messages);
    const { messages: sent, repairs } = curateRequest({
      messages,
      history: (given) =>
        given.map((one) => (one.role === 'tool' ? { ...one, content: [{ type: 'text', text: '…' }] } : one)),
    });
    expect(sent.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual(
      Array.from({ length: 3 }, () => [{ type: 'text', text: '…' }]),
    );
    expect(repairs).toEqual([]);
    expect(messages).toEqual(before);
  });
});

test('D31: a manager that keeps the last few messages does not lose the current question', () => {
  const { messages } = new Conversation()
    .user('What is 1+1?')
    .says('2')
    .user('Delete it, please')
    .calls('call_1')
    .calls('call_2');
  const { messages: sent } = curateRequest({ history: (all) => all.slice(-2), messages });
  expect(sent.filter(({ role }) => role === 'user').map(textOf)).toContain('Delete it, please');
  expect(checkCoherence(sent).violations).toEqual([]);
});
