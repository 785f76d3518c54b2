import { convertToModelMessages, type UIMessage as SdkUIMessage, safeValidateUIMessages } from 'ai';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ConversationBlock,
  createConversationState,
  isConversationEvent,
  reduceConversationEvents,
  type SessionConversationState,
} from '../../src/conversation.ts';
import { NO_RESULT } from '../../src/formats/placeholders.ts';
import { exportConversation } from '../../src/importers/export-conversation.ts';
import { type UIMessage, uiMessagesToEvents } from '../../src/transcripts/ai-sdk-ui.ts';
import { anyEvent } from '../conversation/arbitraries.ts';
import { call, result, spawned, T0, text, upsert } from '../conversation/builders.ts';
import { lines, makeMessages, stateOf, toolCall } from './own-log-builders.ts';

function exported(source: Parameters<typeof exportConversation>[0]): { messages: UIMessage[]; lost: string[] } {
  const { content, losses } = exportConversation(source, { format: 'ai-sdk' });
  return { messages: JSON.parse(content), lost: losses.map((loss) => loss.what) };
}

function shown(messages: readonly UIMessage[]): SessionConversationState {
  const events = uiMessagesToEvents(messages);
  for (const event of events) expect(isConversationEvent(event)).toBe(true);
  return stateOf(events);
}

async function expectValid(messages: readonly UIMessage[]): Promise<void> {
  if (messages.length === 0) return;
  const checked = await safeValidateUIMessages({ messages: structuredClone(messages) });
  expect(checked).toMatchObject({ success: true });
  await convertToModelMessages(messages as unknown as SdkUIMessage[], { ignoreIncompleteToolCalls: true });
}

describe('exporting UI messages', () => {
  test('gives one message for the user, one for all responses, and a step for every response', async () => {
    const m = makeMessages();
    const { messages, lost } = exported([
      m.system('Be brief'),
      m.user('Fix it'),
      m.assistant('', [toolCall('c1', '{"path":"a"}'), toolCall('c2', '{}')], {
        content: [
          { type: 'reasoning', text: 'hm' },
          { type: 'text', text: 'Reading' },
        ],
      }),
      m.tool('c1', 'ok'),
      m.tool('c2', 'no', { isError: true }),
      m.assistant('Done'),
    ]);
    expect(messages.map(({ role, parts }) => ({ role, parts }))).toEqual([
      { role: 'system', parts: [{ type: 'text', text: 'Be brief', state: 'done' }] },
      { role: 'user', parts: [{ type: 'text', text: 'Fix it', state: 'done' }] },
      {
        role: 'assistant',
        parts: [
          { type: 'step-start' },
          { type: 'reasoning', text: 'hm', state: 'done' },
          { type: 'text', text: 'Reading', state: 'done' },
          {
            type: 'dynamic-tool',
            toolName: 'read',
            toolCallId: 'ev/1/c1',
            state: 'output-available',
            input: { path: 'a' },
            output: 'ok',
          },
          {
            type: 'dynamic-tool',
            toolName: 'read',
            toolCallId: 'ev/1/c2',
            state: 'output-error',
            input: {},
            errorText: 'no',
          },
          { type: 'step-start' },
          { type: 'text', text: 'Done', state: 'done' },
        ],
      },
    ]);
    expect(lost).toEqual([]);
    await expectValid(messages);
    const model = await convertToModelMessages(messages as unknown as SdkUIMessage[]);
    expect(model.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant']);
  });

  test.for<[string, ConversationBlock, object]>([
    ['being written', call('c', { inputText: '{"a' }), { state: 'input-streaming', rawInput: '{"a' }],
    ['running', call('c', { input: { a: 1 } }), { state: 'input-available', input: { a: 1 } }],
    ['given up', call('c', { input: {}, status: 'error' }), { state: 'output-error', errorText: NO_RESULT }],
  ])('a call that is %s', async ([, block, expected]) => {
    const { messages } = exported(stateOf([upsert(block)]));
    expect(messages[0]?.parts[0]).toMatchObject(expected);
    await expectValid(messages);
  });

  test('the losses name a subagent’s blocks and contents that are missing', () => {
    const attachments = [{ mediaType: 'image/png', data: 'sha256:aa' }];
    const { messages, lost } = exported(
      stateOf([
        upsert(text('u', 'see', { type: 'user_message', attachments })),
        spawned('t', { prompt: 'p' }),
        upsert(text('x', 'y'), 't'),
      ]),
    );
    expect(messages[0]?.parts).toEqual([{ type: 'text', text: 'see', state: 'done' }]);
    expect(lost.toSorted()).toEqual(['attachment', 'what a subagent did']);
  });

  test('every state is valid for the AI SDK, and its blocks are read back', async () => {
    const types = (blocks: Iterable<ConversationBlock>): string[] =>
      [...blocks].map((block) => block.type).filter((type) => type !== 'tool_result');
    // Ids by D46: a block with the id of a call or a result is one.
    const event = anyEvent.filter((e) => {
      if (e.type !== 'block:upsert' || e.block.type === 'tool_result') return true;
      return e.block.type === 'tool_use' ? e.block.id === e.block.toolUseId : /^(b|subagent:)/.test(e.block.id);
    });
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 25 }), async (events) => {
        const state = reduceConversationEvents(createConversationState(), events);
        const { messages } = exported(state);
        await expectValid(messages);
        // Every block has its part; a result is part of its call’s.
        expect(types(shown(messages).blocks)).toEqual(types(state.blocks));
      }),
      { numRuns: 200 },
    );
  });

  test('reading an export gives the same blocks, and their ids where UI messages have them', () => {
    const message = { id: 'm1' };
    const state = stateOf([
      upsert(
        text('u', 'Fix it', {
          type: 'user_message',
          attachments: [{ mediaType: 'image/png', data: 'data:image/png;base64,AAAA', filename: 'a.png' }],
        }),
      ),
      upsert(text('m1:0', 'hm', { type: 'thinking', message })),
      upsert(text('m1:1', 'Reading', { message })),
      upsert(call('c1', { input: { a: 1 }, message })),
      upsert(result('c1', { isError: true, output: 'no' })),
      upsert({ ...text('n'), type: 'system', subtype: 'forked', content: 'Forked' }),
      upsert(text('i', 'I was', { status: 'error' })),
    ]);
    const again = shown(exported(state).messages);
    expect(again.blocks.toJSON()).toEqual(state.blocks.toJSON());
  });
});

describe('reading UI messages', () => {
  const assistant = (...parts: UIMessage['parts'][number][]): UIMessage => ({ id: 'm', role: 'assistant', parts });

  test('a conversation with static and dynamic tools is read', () => {
    const state = shown([
      { id: 's', role: 'system', parts: [{ type: 'text', text: 'Be brief' }] },
      {
        id: 'u',
        role: 'user',
        metadata: { createdAt: T0 },
        parts: [
          { type: 'text', text: 'Hi' },
          { type: 'file', mediaType: 'image/png', url: 'https://x/a.png', filename: 'a.png' },
        ],
      },
      assistant(
        { type: 'step-start' },
        { type: 'reasoning', text: 'hm' },
        { type: 'tool-read', toolCallId: 'c1', state: 'output-available', input: { p: 1 }, output: { ok: true } },
        {
          type: 'dynamic-tool',
          toolName: 'write',
          toolCallId: 'c2',
          state: 'output-error',
          input: {},
          errorText: 'full',
        },
        { type: 'text', text: 'Done', state: 'streaming' },
      ),
    ]);
    expect(lines(state)).toEqual([
      'complete system/instructions: Be brief',
      'complete user_message: Hi',
      'complete thinking: hm',
      'complete read({"p":1})',
      'complete result: {"ok":true}',
      'error write({})',
      'complete failed: full',
      'pending assistant_text: Done',
    ]);
    expect(state.blocks.at(1)).toMatchObject({
      timestamp: T0,
      attachments: [{ mediaType: 'image/png', data: 'https://x/a.png', filename: 'a.png' }],
    });
  });

  test.for<[object, string[]]>([
    [{ state: 'input-streaming', rawInput: '{"a' }, ['pending read({"a)']],
    [{ state: 'input-available', input: { a: 1 } }, ['pending read({"a":1})']],
    [{ state: 'approval-requested', input: {}, approval: { id: 'x' } }, ['pending read({})']],
    [{ state: 'approval-responded', input: {}, approval: { id: 'x', approved: true } }, ['pending read({})']],
    [{ state: 'output-available', input: {}, output: 'part', preliminary: true }, ['pending read({})']],
    [{ state: 'output-available', input: {}, output: 'x' }, ['complete read({})', 'complete result: x']],
    [
      { state: 'output-denied', input: {}, approval: { id: 'x', approved: false, reason: 'no' } },
      ['error read({})', 'complete failed: no'],
    ],
  ])('a tool part %j', ([fields, expected]) => {
    expect(lines(shown([assistant({ type: 'tool-read', toolCallId: 'c', ...fields })]))).toEqual(expected);
  });

  test('D49: parts of unknown types are kept', () => {
    const state = shown([
      assistant(
        { type: 'source-url', sourceId: '1', url: 'https://x' },
        { type: 'data-weather', data: { sun: true } },
        { type: 'custom', kind: 'a.b' },
        { type: 'steering-message', id: 'st', parts: [{ type: 'text', text: 'faster' }] },
        { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AAAA' },
      ),
    ]);
    expect(state.blocks.map((block) => [block.type, 'sourceType' in block ? block.sourceType : block.id])).toEqual([
      ['unknown', 'source-url'],
      ['unknown', 'data-weather'],
      ['unknown', 'custom'],
      ['user_message', 'st'],
      ['assistant_text', 'm:file:3'],
    ]);
  });

  test('D46: a repeated call id gets #2', () => {
    const part = { type: 'tool-read', toolCallId: 'c', state: 'output-available', input: {}, output: 'x' };
    const state = shown([assistant(part), { ...assistant(part), id: 'm2' }]);
    expect(state.blocks.map((block) => block.id)).toEqual(['c', 'result:c', 'c#2', 'result:c#2']);
  });

  test('invalid messages give no event, or a valid one', () => {
    const hostile = [
      null,
      1,
      'x',
      [],
      {},
      { id: 1 },
      { id: 'a' },
      {
        id: 'b',
        role: 'assistant',
        parts: [
          null,
          1,
          {},
          { type: 1 },
          { type: 'text', text: 2 },
          { type: 'tool-' },
          { type: 'data-holdfast-block', data: { id: 'x' } },
        ],
      },
    ];
    const events = uiMessagesToEvents(hostile as UIMessage[]);
    for (const event of events) expect(isConversationEvent(event)).toBe(true);
    expect(events.length).toBeGreaterThan(2);
  });
});
