import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createConversationState, reduceConversationEvents } from '../../src/conversation.ts';
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import { exportConversation } from '../../src/importers/export-conversation.ts';
import { messagesToEvents } from '../../src/transcripts/own-log.ts';
import { anyEvent } from '../conversation/arbitraries.ts';
import { call, result, spawned, text, upsert } from '../conversation/builders.ts';
import { checkAnthropic } from '../support/provider-server/anthropic-check.ts';
import { checkOpenAIChat } from '../support/provider-server/openai-chat-check.ts';
import { logOf, makeMessages, started, stateOf, toolCall } from './own-log-builders.ts';

function openai(source: Parameters<typeof exportConversation>[0]): { messages: unknown[]; lost: string[] } {
  const { content, losses } = exportConversation(source, { format: 'openai' });
  return { messages: JSON.parse(content), lost: losses.map((loss) => loss.what) };
}

function anthropic(source: Parameters<typeof exportConversation>[0]): {
  conversation: {
    system?: { type: 'text'; text: string }[];
    messages: { role: string; content: Record<string, unknown>[] }[];
  };
  lost: string[];
} {
  const { content, losses } = exportConversation(source, { format: 'anthropic' });
  return { conversation: JSON.parse(content), lost: losses.map((loss) => loss.what) };
}

const m = makeMessages();
const picture = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const;
const conversation: readonly ConversationMessage[] = [
  m.system('Be brief'),
  m.user('Hi', { content: [{ type: 'text', text: 'Hi' }, picture] }),
  m.assistant('', [toolCall('c1', '{"path":"a"}', { after: 1 }), toolCall('c2', '{"path":"b"}')], {
    content: [
      { type: 'text', text: 'Look: ' },
      { type: 'text', text: 'there' },
    ],
  }),
  m.tool('c2', 'text of b'),
  m.tool('c1', 'no such file', { isError: true }),
  m.assistant('Done'),
];

describe('OpenAI messages', () => {
  test('hold a conversation, results in the order of their calls (D10)', () => {
    expect(openai(conversation)).toEqual({
      messages: [
        { role: 'system', content: 'Be brief' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Hi' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Look: ' },
            { type: 'text', text: 'there' },
          ],
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } },
            { id: 'c2', type: 'function', function: { name: 'read', arguments: '{"path":"b"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: '[tool error] no such file' },
        { role: 'tool', tool_call_id: 'c2', content: 'text of b' },
        { role: 'assistant', content: 'Done' },
      ],
      lost: ['place of a call in its response'],
    });
  });

  test.for<[string, ConversationMessage[], string]>([
    [
      'reasoning',
      [
        m.assistant('a', [], {
          content: [
            { type: 'reasoning', text: 'hm' },
            { type: 'text', text: 'a' },
          ],
        }),
      ],
      'reasoning',
    ],
    [
      'a picture the model made',
      [m.assistant('a', [], { content: [picture, { type: 'text', text: 'a' }] })],
      'medium of a response',
    ],
    [
      'a picture in a result',
      [m.assistant('', [toolCall('x')]), m.tool('x', '', { content: [picture] })],
      'medium of a result',
    ],
    ['content that is kept apart', [m.user('', { content: [{ ...picture, data: 'sha256:aa' }] })], 'medium'],
    [
      'a spreadsheet',
      [m.user('', { content: [{ type: 'file', mediaType: 'text/csv', data: 'AAAA' }] })],
      'medium of type text/csv',
    ],
    ['a call that has no result', [m.assistant('', [toolCall('x')])], 'missing result'],
    ['a result that has no call', [m.tool('nobody', 'x')], 'tool result'],
    ['a child conversation', [{ ...m.user('x'), conversationId: 'ev/1/c/1' }], 'child conversation'],
    ['an id that is too long', [m.assistant('', [toolCall('x'.repeat(50))])], 'call id'],
    ['a name no provider takes', [m.assistant('', [toolCall('x', '{}', { name: 'a.b' })])], 'tool name'],
  ])('cannot hold %s, and the report says so', ([, messages, what]) => {
    expect(openai(messages).lost).toContain(what);
  });

  test('a call that has no result gets one that says so', () => {
    expect(openai([m.assistant('', [toolCall('x')])]).messages.at(-1)).toEqual({
      role: 'tool',
      tool_call_id: 'x',
      content: '[tool error] No result was recorded for this call. Its outcome is unknown.',
    });
  });

  test('a repeated id becomes a distinct one (D11)', () => {
    const messages = [
      m.assistant('', [toolCall('c')]),
      m.tool('c', '1'),
      m.assistant('', [toolCall('c')]),
      m.tool('c', '2'),
    ];
    const ids = openai(messages).messages.flatMap(
      (message) => (message as { tool_call_id?: string }).tool_call_id ?? [],
    );
    expect(ids).toEqual(['c', 'c_2']);
  });
});

describe('Anthropic messages', () => {
  test('hold a conversation: instructions apart, results in one message, calls behind the text', () => {
    expect(anthropic(conversation)).toEqual({
      conversation: {
        system: [{ type: 'text', text: 'Be brief' }],
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Hi' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            ],
          },
          {
            role: 'assistant',
            content: [
              { type: 'text', text: 'Look: ' },
              { type: 'text', text: 'there' },
              { type: 'tool_use', id: 'c1', name: 'read', input: { path: 'a' } },
              { type: 'tool_use', id: 'c2', name: 'read', input: { path: 'b' } },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 'c1', content: 'no such file', is_error: true },
              { type: 'tool_result', tool_use_id: 'c2', content: 'text of b' },
            ],
          },
          { role: 'assistant', content: [{ type: 'text', text: 'Done' }] },
        ],
      },
      lost: ['place of a call in its response'],
    });
  });

  test('hold signed and sealed reasoning, and no other', () => {
    const content = [
      { type: 'reasoning', text: 'signed', signature: 's', provider: 'anthropic' },
      { type: 'reasoning', text: '', redacted: 'opaque', provider: 'anthropic' },
      { type: 'reasoning', text: 'unsigned' },
      { type: 'reasoning', text: 'theirs', signature: 's', provider: 'openai' },
      { type: 'reasoning', text: 'of unknown origin', signature: 's' },
      { type: 'text', text: 'Yes' },
    ] as const;
    const { conversation: exported, lost } = anthropic([m.user('x'), m.assistant('', [], { content })]);
    expect(exported.messages[1]?.content).toEqual([
      { type: 'thinking', thinking: 'signed', signature: 's' },
      { type: 'redacted_thinking', data: 'opaque' },
      { type: 'text', text: 'Yes' },
    ]);
    expect(lost).toEqual(['reasoning']);
  });

  test.for<[string, ConversationMessage[], string]>([
    ['instructions in the middle', [m.user('x'), m.system('now be long')], 'place of instructions'],
    ['arguments that are no object', [m.user('x'), m.assistant('', [toolCall('c', '[1]')])], 'arguments of a call'],
    ['a beginning without a user', [m.assistant('x')], 'beginning'],
    [
      'a spreadsheet',
      [m.user('', { content: [{ type: 'file', mediaType: 'text/csv', data: 'AAAA' }] })],
      'medium of type text/csv',
    ],
    ['a picture the model made', [m.user('x'), m.assistant('', [], { content: [picture] })], 'medium of a response'],
  ])('cannot hold %s, and the report says so', ([, messages, what]) => {
    expect(anthropic(messages).lost).toContain(what);
  });
});

describe('from what a screen shows', () => {
  test('the same chat as from the messages, but for the names of calls', () => {
    const fromState = openai(stateOf(messagesToEvents(conversation, { machinery: true })));
    const fromMessages = openai(conversation);
    const named = (messages: unknown[]): unknown =>
      JSON.parse(JSON.stringify(messages).replaceAll(/ev_1_(c\d)_[0-9a-f]{8}/g, '$1'));
    expect(named(fromState.messages)).toEqual(fromMessages.messages);
    expect(fromState.lost).toEqual(expect.arrayContaining(fromMessages.lost));
  });

  test('pictures of a result, as Claude, OpenCode and our own loop write them; what is no picture is in the report', () => {
    const parts = [
      { type: 'text', text: 'in the output' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      { type: 'file', mime: 'image/png', url: 'data:image/png;base64,BBBB', filename: 'b.png' },
      { type: 'image', mediaType: 'image/png', data: 'CCCC' },
      { type: 'file', mime: 'image/png', url: 'file:///tmp/d.png' },
      { type: 'tool_reference', tool_name: 'x' },
    ];
    const state = stateOf([upsert(call('a')), upsert(result('a', { parts }))]);
    const { conversation: exported, lost } = anthropic(state);
    const written = JSON.stringify(exported.messages);
    for (const data of ['AAAA', 'BBBB', 'CCCC']) expect(written).toContain(`"data":"${data}"`);
    expect(written).not.toContain('d.png');
    expect(lost).toEqual(expect.arrayContaining(['medium', 'part of a result']));
  });

  test('blocks belong to the response they name; without a name, to the text since the last result', () => {
    const message = { id: 'm1' };
    const named = [upsert(call('a', { message })), upsert(result('a')), upsert(text('t', 'x', { message }))];
    expect(openai(stateOf(named)).messages).toHaveLength(2);
    const unnamed = [upsert(call('a')), upsert(result('a')), upsert(text('t', 'x'))];
    expect(openai(stateOf(unnamed)).messages).toHaveLength(3);
  });

  test('a subagent is a call and its result; notices and its own calls are in the report', () => {
    const state = reduceConversationEvents(createConversationState(), [
      upsert(text('u', 'go', { type: 'user_message' })),
      spawned('t1', { prompt: 'find it', subagentType: 'explorer' }),
      upsert(text('x', 'looking'), 't1'),
      { type: 'subagent:completed', timestamp: '', toolUseId: 't1', status: 'completed', output: 'found' },
      upsert({ ...text('n'), type: 'system', subtype: 'forked', content: 'Forked' }),
      upsert(text('i', 'I was', { status: 'error' })),
    ]);
    const { messages, lost } = openai(state);
    expect(messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 't1',
            type: 'function',
            function: { name: 'subagent', arguments: '{"type":"explorer","prompt":"find it"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 't1', content: 'found' },
    ]);
    expect(lost.toSorted()).toEqual(['interrupted text', 'notice', 'what a subagent did']);
  });
});

test('a log is exported like its messages', () => {
  const log = logOf(started(), ...conversation, { type: 'evaluation/completed', evaluationId: 'ev' });
  expect(openai(log)).toEqual(openai(conversation));
});

test('I4: whatever a screen shows, no provider refuses what is exported of it', () => {
  const tools = [{ name: 'any', input_schema: { type: 'object' } }];
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 30 }), (events) => {
      const begun = [upsert(text('first', 'go', { type: 'user_message' })), ...events];
      const state = reduceConversationEvents(createConversationState(), begun);
      const { messages } = openai(state);
      expect(checkOpenAIChat({ model: 'm', stream: true, messages }, { compatible: false })).toBeUndefined();
      const { conversation: exported } = anthropic(state);
      const last = exported.messages.at(-1);
      if (last?.role === 'assistant')
        exported.messages.push({ role: 'user', content: [{ type: 'text', text: 'go on' }] });
      expect(checkAnthropic({ model: 'm', max_tokens: 1, stream: true, tools, ...exported })).toBeUndefined();
    }),
    { numRuns: 500 },
  );
});
