import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ConversationMessage, ReasoningPart } from '../../src/core/log/messages.ts';
import { toAnthropic } from '../../src/formats/anthropic-messages.ts';
import { API_RULES } from '../../src/formats/api-rules.ts';
import { toOpenAIChat } from '../../src/formats/openai-chat.ts';
import type { Provider } from '../../src/formats/provider-rules.ts';
import { canSend, repairCoherence } from '../../src/history/coherence/coherence.ts';
import { checkAnthropic } from '../support/provider-server/anthropic-check.ts';
import { checkOpenAIChat } from '../support/provider-server/openai-chat-check.ts';
import { conversation, vandalised } from './arbitraries.ts';
import { Conversation, shapeOf } from './conversation.ts';
import { toWire } from './wire.ts';

const chat = (): Conversation => new Conversation().system('Be brief.').user('hello');
const call = (callId: string, name = 'read') => ({ callId, name, arguments: '{}' });
const thought = (more: Partial<ReasoningPart> = {}): ReasoningPart => ({ type: 'reasoning', text: 'hm', ...more });
const signed = thought({ signature: 'sig', provider: 'anthropic' });
const long = 'x'.repeat(41);
const idFor = API_RULES.openai.callIds.make;

interface Case {
  readonly name: string;
  readonly provider: Provider;
  readonly messages: readonly ConversationMessage[];
  readonly codes: readonly string[];
  readonly repaired: string;
}

const cases: readonly Case[] = [
  {
    name: 'a whole conversation',
    provider: 'openai',
    messages: chat().calls('a', 'b').messages,
    codes: [],
    repaired: 'system user ask(a,b) a b',
  },
  {
    name: 'a whole conversation',
    provider: 'anthropic',
    messages: chat().calls('a', 'b').messages,
    codes: [],
    repaired: 'system user ask(a,b) a b',
  },
  {
    name: 'pairing: a call without a result',
    provider: 'openai',
    messages: chat().asks('a').messages,
    codes: ['call-without-result'],
    repaired: 'system user ask(a) (a)',
  },
  {
    name: 'pairing: a result without a call',
    provider: 'anthropic',
    messages: chat().result('a').messages,
    codes: ['result-without-call'],
    repaired: 'system user',
  },
  {
    name: 'pairing: a second result',
    provider: 'openai',
    messages: chat().calls('a').result('a').messages,
    codes: ['duplicate-result'],
    repaired: 'system user ask(a) a',
  },
  {
    name: 'order: a message between call and result',
    provider: 'anthropic',
    messages: chat().asks('a').user('wait').result('a').messages,
    codes: ['result-out-of-order'],
    repaired: 'system user ask(a) a user',
  },
  {
    name: 'order: a response first',
    provider: 'anthropic',
    messages: new Conversation().says('hi').user('hello').messages,
    codes: ['opens-with-assistant'],
    repaired: '(user) says user',
  },
  {
    name: 'order: a response first',
    provider: 'openai',
    messages: new Conversation().says('hi').user('hello').messages,
    codes: [],
    repaired: 'says user',
  },
  {
    name: 'order: a response last',
    provider: 'anthropic',
    messages: chat().says('hi').messages,
    codes: ['ends-with-assistant'],
    repaired: 'system user says (user)',
  },
  {
    name: 'order: a response last',
    provider: 'openai',
    messages: chat().says('hi').messages,
    codes: [],
    repaired: 'system user says',
  },
  {
    name: 'order: instructions in the middle',
    provider: 'anthropic',
    messages: chat().system('Now in French.').user('bonjour').messages,
    codes: ['system-misplaced'],
    repaired: 'system system user user',
  },
  {
    name: 'order: instructions in the middle',
    provider: 'openai',
    messages: chat().system('Now in French.').user('bonjour').messages,
    codes: [],
    repaired: 'system user system user',
  },
  { name: 'nothing at all', provider: 'openai', messages: [], codes: ['no-messages'], repaired: '(user)' },
  {
    name: 'nothing but instructions',
    provider: 'anthropic',
    messages: new Conversation().system('Be brief.').messages,
    codes: ['no-messages'],
    repaired: 'system (user)',
  },
  {
    name: 'nothing but instructions',
    provider: 'openai',
    messages: new Conversation().system('Be brief.').messages,
    codes: [],
    repaired: 'system',
  },
  {
    name: 'ids: the same in two turns',
    provider: 'anthropic',
    messages: chat().calls('a').calls('a').messages,
    codes: ['id-repeated'],
    repaired: 'system user ask(a) a ask(a_2) a_2',
  },
  {
    name: 'ids: the same in two turns',
    provider: 'openai',
    messages: chat().calls('a').calls('a').messages,
    codes: ['id-repeated'],
    repaired: 'system user ask(a) a ask(a_2) a_2',
  },
  {
    name: 'ids: the same twice in one turn',
    provider: 'openai',
    messages: chat().calls('a', 'a').messages,
    codes: ['id-repeated'],
    repaired: 'system user ask(a,a_2) a a_2',
  },
  {
    name: 'ids: empty',
    provider: 'openai',
    messages: chat().asks(call('')).result('').messages,
    codes: ['id-invalid', 'id-invalid'],
    repaired: `system user ask(${idFor('')}) ${idFor('')}`,
  },
  {
    name: 'ids: too long',
    provider: 'openai',
    messages: chat().calls(long).messages,
    codes: ['id-invalid', 'id-invalid'],
    repaired: `system user ask(${idFor(long)}) ${idFor(long)}`,
  },
  {
    name: 'ids: characters',
    provider: 'anthropic',
    messages: chat().calls('a.b/c').messages,
    codes: ['id-invalid', 'id-invalid', 'name-invalid'],
    repaired: `system user ask(${idFor('a.b/c')}) ${idFor('a.b/c')}`,
  },
  {
    name: 'names: characters',
    provider: 'openai',
    messages: chat().asks(call('a', 'read file')).result('a').messages,
    codes: ['name-invalid'],
    repaired: 'system user ask(a) a',
  },
  {
    name: 'empty content: a blank message',
    provider: 'openai',
    messages: chat().says(' ').user('x').messages,
    codes: ['empty-content'],
    repaired: 'system user user',
  },
  {
    name: 'empty content: a blank text beside another',
    provider: 'anthropic',
    messages: chat().user('', [
      { type: 'text', text: 'x' },
      { type: 'text', text: '' },
    ]).messages,
    codes: ['empty-content'],
    repaired: 'system user user',
  },
  {
    name: 'empty content: a result of blanks',
    provider: 'anthropic',
    messages: chat().asks('a').result('a', '  ').messages,
    codes: ['empty-content'],
    repaired: 'system user ask(a) a',
  },
  {
    name: 'empty content: a failure without text',
    provider: 'anthropic',
    messages: chat().asks('a').result('a', '', true).messages,
    codes: ['empty-content'],
    repaired: 'system user ask(a) a',
  },
  {
    name: 'empty content: nothing but reasoning',
    provider: 'openai',
    messages: chat().says('', [signed]).user('x').messages,
    codes: ['empty-content'],
    repaired: 'system user user',
  },
  {
    name: 'empty content: an empty list of calls',
    provider: 'openai',
    messages: chat()
      .says('x')
      .messages.map((one) => (one.role === 'assistant' ? { ...one, toolCalls: [] } : one)),
    codes: ['calls-empty'],
    repaired: 'system user says',
  },
  {
    name: 'signatures: none',
    provider: 'anthropic',
    messages: chat()
      .says('', [thought(), { type: 'text', text: 'x' }])
      .user('y').messages,
    codes: ['reasoning-unsigned'],
    repaired: 'system user says user',
  },
  {
    name: "signatures: another provider's",
    provider: 'anthropic',
    messages: chat()
      .says('', [thought({ signature: 's', provider: 'google' }), { type: 'text', text: 'x' }])
      .user('y').messages,
    codes: ['reasoning-unsigned'],
    repaired: 'system user says user',
  },
  {
    name: 'signatures: its own',
    provider: 'anthropic',
    messages: chat()
      .says('', [signed, { type: 'text', text: 'x' }])
      .user('y').messages,
    codes: [],
    repaired: 'system user says user',
  },
  {
    name: 'signatures: nothing follows the reasoning',
    provider: 'anthropic',
    messages: chat().says('', [signed]).user('y').messages,
    codes: ['reasoning-last'],
    repaired: 'system user user',
  },
];

describe('canSend', () => {
  test.for(cases)('$provider: $name', ({ provider, messages, codes, repaired }) => {
    const { ok, violations } = canSend(messages, provider);
    expect(violations.map(({ code }) => code).sort()).toEqual([...codes].sort());
    expect(ok).toBe(codes.length === 0);
    expect(violations.filter(({ repair }) => repair === '')).toEqual([]);
    const mended = repairCoherence(messages, { provider });
    expect(mended.violations).toEqual(violations);
    expect(shapeOf(mended.messages)).toBe(repaired);
    expect(canSend(mended.messages, provider).violations).toEqual([]);
  });

  test('with thinking, the current turn must start with its signed reasoning; no repair invents one', () => {
    const { messages } = chat().calls('a');
    expect(canSend(messages, 'anthropic').ok).toBe(true);
    const { violations } = canSend(messages, 'anthropic', { thinking: true });
    expect(violations).toMatchObject([{ code: 'reasoning-missing', index: 2 }]);
    expect(canSend(chat().calls('a').user('next').messages, 'anthropic', { thinking: true }).ok).toBe(true);
  });

  test('a call keeps its position between the remaining parts', () => {
    const parts = [thought(), { type: 'text', text: 'first' }, { type: 'text', text: 'second' }] as const;
    const { messages } = chat()
      .asks({ ...call('a'), after: 2 })
      .result('a');
    const asking = { ...messages[2], content: parts } as ConversationMessage;
    const mended = repairCoherence(messages.toSpliced(2, 1, asking), { provider: 'anthropic' }).messages;
    expect(mended[2]).toMatchObject({ content: parts.slice(1), toolCalls: [{ callId: 'a', after: 1 }] });
  });

  test('an unknown provider is a typed error that names the known ones', () => {
    expect(() => canSend([], 'nobody' as Provider)).toThrow(/openai/);
  });
});

describe('with a server that rejects what the real ones reject', () => {
  const refusal = (messages: readonly ConversationMessage[], provider: Provider): string | undefined => {
    const body = { model: 'm', stream: true, max_tokens: 10, ...toWire(messages, provider) };
    const tools = [{ name: 'read', input_schema: { type: 'object' } }];
    if (provider === 'anthropic') return checkAnthropic({ ...body, tools })?.message;
    return checkOpenAIChat(body, { compatible: true })?.message;
  };
  const scene = conversation().chain((original) => fc.oneof(vandalised(original), fc.constant(original)));

  test.for<Provider>(['openai', 'anthropic'])('%s: the server accepts every repaired request', (provider) => {
    fc.assert(
      fc.property(scene, (messages) => {
        const mended = repairCoherence(messages, { provider }).messages;
        expect(canSend(mended, provider).violations).toEqual([]);
        expect(refusal(mended, provider)).toBeUndefined();
      }),
      { numRuns: 400 },
    );
  });

  test.for<Provider>(['openai', 'anthropic'])(
    '%s: canSend rejects every request that the server rejects',
    (provider) => {
      fc.assert(
        fc.property(scene, (messages) => {
          if (refusal(messages, provider) !== undefined) expect(canSend(messages, provider).ok).toBe(false);
        }),
        { numRuns: 400 },
      );
    },
  );

  const idsIn = (messages: readonly ConversationMessage[], provider: Provider): readonly string[] => {
    const written = JSON.stringify(provider === 'anthropic' ? toAnthropic(messages) : toOpenAIChat(messages));
    return Array.from(written.matchAll(/"(?:tool_use_id|tool_call_id)":"([^"]*)"/g), ([, id]) => id ?? '');
  };

  test.for<Provider>(['openai', 'anthropic'])(
    '%s: repair and codec change the same ids in the same way',
    (provider) => {
      fc.assert(
        fc.property(scene, (messages) => {
          expect(idsIn(repairCoherence(messages, { provider }).messages, provider)).toEqual(idsIn(messages, provider));
        }),
        { numRuns: 200 },
      );
    },
  );
});
