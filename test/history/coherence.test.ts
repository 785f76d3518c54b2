import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import { checkCoherence, repairCoherence, type Violation } from '../../src/history/coherence/coherence.ts';
import { conversation, vandalised } from './arbitraries.ts';
import { Conversation, shapeOf } from './conversation.ts';

const chat = (): Conversation => new Conversation().system('Be brief.').user('hello');
const summary = (id: string, role: 'user' | 'assistant' = 'user'): ConversationMessage => ({
  ...(new Conversation('s').user('what happened before').messages[0] as ConversationMessage & { role: 'user' }),
  id,
  role,
  synthetic: true,
});

describe('pairing (I4, D10, D11)', () => {
  const cases: readonly {
    name: string;
    messages: readonly ConversationMessage[];
    codes: readonly Violation['code'][];
    at?: number;
    repaired: string;
  }[] = [
    {
      name: 'a whole conversation',
      messages: chat().calls('a', 'b').says('done').messages,
      codes: [],
      repaired: 'system user ask(a,b) a b says',
    },
    { name: 'nothing at all', messages: [], codes: [], repaired: '' },
    {
      name: 'a call without a result',
      messages: chat().asks('a', 'b').result('a').messages,
      codes: ['call-without-result'],
      at: 2,
      repaired: 'system user ask(a,b) a (b)',
    },
    {
      name: 'a result without a call',
      messages: chat().result('a').says('x').messages,
      codes: ['result-without-call'],
      at: 2,
      repaired: 'system user says',
    },
    {
      name: 'a result of an older message',
      messages: chat().calls('a').says('x').result('a').messages,
      codes: ['result-without-call'],
      at: 5,
      repaired: 'system user ask(a) a says',
    },
    {
      name: 'results in the order they finished',
      messages: chat().asks('a', 'b', 'c').result('b').result('a').result('c').messages,
      codes: ['result-out-of-order'],
      at: 4,
      repaired: 'system user ask(a,b,c) a b c',
    },
    {
      name: 'a message between a call and its result',
      messages: chat().asks('a').user('wait').result('a').messages,
      codes: ['result-out-of-order'],
      at: 4,
      repaired: 'system user ask(a) a user',
    },
    {
      name: 'a second result',
      messages: chat().calls('a').result('a', 'again').messages,
      codes: ['duplicate-result'],
      at: 4,
      repaired: 'system user ask(a) a',
    },
    {
      name: 'the same id in two turns',
      messages: chat().calls('a').calls('a').messages,
      codes: [],
      repaired: 'system user ask(a) a ask(a) a',
    },
    {
      name: 'the same id twice in one turn',
      messages: chat().calls('a', 'a').messages,
      codes: [],
      repaired: 'system user ask(a,a) a a',
    },
    {
      name: 'a call that the provider ran',
      messages: chat().asks({ callId: 'w', name: 'search', arguments: '{}', providerExecuted: {} }).messages,
      codes: [],
      repaired: 'system user ask(w)',
    },
    {
      name: 'an empty user message',
      messages: chat().user(' \n').says('x').messages,
      codes: ['empty-content'],
      at: 2,
      repaired: 'system user says',
    },
    {
      name: 'an assistant message without anything',
      messages: chat().says('', []).user('x').messages,
      codes: ['empty-content'],
      at: 2,
      repaired: 'system user user',
    },
    {
      name: 'a tool that returned nothing',
      messages: chat().asks('a').result('a', '').messages,
      codes: [],
      repaired: 'system user ask(a) a',
    },
  ];

  test.for(cases)('$name', ({ messages, codes, at, repaired }) => {
    const { ok, violations } = checkCoherence(messages);
    expect(violations.map(({ code }) => code)).toEqual(codes);
    expect(ok).toBe(codes.length === 0);
    if (at !== undefined) expect(violations[0]?.index).toBe(at);
    expect(shapeOf(repairCoherence(messages).messages)).toBe(repaired);
  });

  test('a result before its call is found by evaluation, turn and id (D11)', () => {
    const { messages } = chat().asks('a').result('a', 'found').says('done');
    const [system, user, asking, result, done] = messages;
    const moved = [system, user, result, asking, done] as ConversationMessage[];
    expect(repairCoherence(moved).messages).toEqual(messages);
  });

  test('a coherent list is returned unchanged, as the same array', () => {
    const { messages } = chat().calls('a', 'b').says('done');
    expect(repairCoherence(messages).messages).toBe(messages);
    expect(repairCoherence(messages, { original: messages }).messages).toBe(messages);
  });

  test('a result that was not recorded is a failure that states it', () => {
    const last = repairCoherence(chat().asks('a').messages).messages.at(-1);
    expect(last).toMatchObject({ role: 'tool', toolCallId: 'a', toolName: 'tool_a', isError: true, synthetic: true });
  });
});

describe('against the record (D32, D56)', () => {
  const { messages: original } = chat().calls('a', 'b').calls('a').says('done');
  const pick = (...indexes: readonly number[]): ConversationMessage[] =>
    indexes.map((index) => original[index] as ConversationMessage);
  const alter = (index: number, change: object): ConversationMessage =>
    ({ ...original[index], ...change }) as ConversationMessage;

  const cases: readonly {
    name: string;
    messages: readonly ConversationMessage[];
    codes: readonly Violation['code'][];
    repaired: string;
  }[] = [
    {
      name: 'a selection of whole groups',
      messages: pick(0, 1, 5, 6, 7),
      codes: [],
      repaired: 'system user ask(a) a says',
    },
    { name: 'the system message lost', messages: pick(1, 7), codes: ['system-lost'], repaired: 'system user says' },
    { name: 'everything lost', messages: [], codes: ['system-lost', 'empty-content'], repaired: 'system says' },
    { name: 'only the system message left', messages: pick(0), codes: ['empty-content'], repaired: 'system says' },
    {
      name: 'the result dropped and the call kept: the recorded result is restored',
      messages: pick(0, 1, 2, 3, 7),
      codes: ['call-without-result'],
      repaired: 'system user ask(a,b) a b says',
    },
    {
      name: 'the call dropped and the result kept',
      messages: pick(0, 1, 3, 4, 7),
      codes: ['result-without-call', 'result-without-call'],
      repaired: 'system user says',
    },
    { name: 'reordered', messages: pick(0, 7, 1), codes: ['reordered'], repaired: 'system user says' },
    {
      name: 'the system message not first',
      messages: pick(1, 0, 7),
      codes: ['reordered'],
      repaired: 'system user says',
    },
    { name: 'a message twice', messages: pick(0, 1, 1, 7), codes: ['reordered'], repaired: 'system user says' },
    {
      name: 'the result of another turn with the same call id',
      messages: pick(0, 1, 5, 3, 7),
      codes: ['reordered'],
      repaired: 'system user ask(a) a says',
    },
    {
      name: 'an invented message',
      messages: [...pick(0, 1), alter(7, { id: 'new' })],
      codes: ['invented'],
      repaired: 'system user',
    },
    {
      name: 'a changed role',
      messages: [...pick(0), alter(1, { role: 'assistant' }), ...pick(7)],
      codes: ['invented'],
      repaired: 'system user says',
    },
    {
      name: 'an invented call',
      messages: [...pick(0, 1), alter(7, { toolCalls: [{ callId: 'z', name: 'z', arguments: '{}' }] })],
      codes: ['call-without-result', 'invented'],
      repaired: 'system user says',
    },
    {
      name: 'an added summary',
      messages: [...pick(0, 1), summary('s'), ...pick(7)],
      codes: [],
      repaired: 'system user (user) says',
    },
    {
      name: 'an added message that asks for calls',
      messages: [
        ...pick(0, 1),
        {
          ...summary('s', 'assistant'),
          toolCalls: [{ callId: 'z', name: 'z', arguments: '{}' }],
        } as ConversationMessage,
      ],
      codes: ['call-without-result', 'invented'],
      repaired: 'system user',
    },
    {
      name: 'a summary stays after the message that it followed',
      messages: [...pick(0, 7), summary('s'), ...pick(1)],
      codes: ['reordered'],
      repaired: 'system user says (user)',
    },
    {
      name: 'a summary before everything comes after the system message',
      messages: [summary('s'), ...pick(1, 7)],
      codes: ['system-lost'],
      repaired: 'system (user) user says',
    },
    {
      name: 'a call left out together with its result',
      messages: [
        ...pick(0, 1),
        alter(2, { toolCalls: [{ callId: 'b', name: 'tool_b', arguments: '{}' }] }),
        ...pick(4, 7),
      ],
      codes: [],
      repaired: 'system user ask(b) b says',
    },
  ];

  test.for(cases)('$name', ({ messages, codes, repaired }) => {
    const { violations } = checkCoherence(messages, { original });
    expect(violations.map(({ code }) => code).sort()).toEqual([...codes].sort());
    const mended = repairCoherence(messages, { original });
    expect(shapeOf(mended.messages)).toBe(repaired);
    expect(checkCoherence(mended.messages, { original }).violations).toEqual([]);
  });

  test('two messages with one id are distinguished', () => {
    const [first, second] = [original[1], original[7]] as [ConversationMessage, ConversationMessage];
    const twins = [original[0] as ConversationMessage, first, ...original.slice(2, 7), { ...second, id: first.id }];
    for (const left of [twins, twins.toSpliced(1, 1), twins.slice(0, -1)]) {
      expect(checkCoherence(left, { original: twins }).violations).toEqual([]);
    }
  });

  test('the result of another turn is replaced by the right one (D11)', () => {
    const mended = repairCoherence(pick(0, 1, 5, 3, 7), { original }).messages;
    expect(mended).toEqual(pick(0, 1, 5, 6, 7));
  });
});

describe('properties', () => {
  test('for any damage to a conversation, the repair is coherent, deterministic and does not change its input (I4)', () => {
    const scene = conversation().chain((original) => vandalised(original).map((messages) => ({ original, messages })));
    fc.assert(
      fc.property(scene, fc.boolean(), ({ original, messages }, withOriginal) => {
        const before = JSON.stringify(messages);
        const options = withOriginal ? { original } : {};
        const { messages: mended, violations } = repairCoherence(messages, options);
        expect(checkCoherence(mended, options).violations).toEqual([]);
        expect(repairCoherence(messages, options)).toEqual({ messages: mended, violations });
        expect(repairCoherence(mended, options).messages).toBe(mended);
        expect(JSON.stringify(messages)).toBe(before);
      }),
      { numRuns: 500 },
    );
  });

  test('a repair drops no coherent message: messages keep their content, recorded pairs stay', () => {
    fc.assert(
      fc.property(conversation(), (original) => {
        const { messages } = repairCoherence(original, { original });
        const ids = new Set(messages.map(({ id }) => id));
        expect(original.filter(({ id }) => !ids.has(id))).toEqual([]);
      }),
    );
  });
});
