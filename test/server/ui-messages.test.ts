/** A stock `Chat` of @ai-sdk/react, the class behind `useChat`: it renders, sends, stops and reconnects. */
import { Chat } from '@ai-sdk/react';
import {
  asSchema,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
  uiMessageChunkSchema,
} from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { definePrompt } from '../../src/evaluate.ts';
import {
  createAgent,
  defineSubagent,
  defineTool,
  type Model,
  ModelError,
  type ModelPart,
  memoryStore,
  openSession,
  scriptedModel,
} from '../../src/index.ts';
import {
  chat as chatPrompt,
  codeOf,
  HeldModel,
  readUntil,
  refunding,
  type Served,
  serve,
  sseMessages,
  until,
} from './support.ts';

/** Fetches, and fails the test for a chunk that is none by the AI SDK's own schema. */
function checkingFetch(chunks: Record<string, unknown>[] = []): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.status !== 200 || !response.headers.get('content-type')?.includes('event-stream')) return response;
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1');
    const [shown, checked] = (response.body as ReadableStream<Uint8Array>).tee();
    void check(new Response(checked), chunks);
    return new Response(shown, { status: response.status, headers: response.headers });
  };
}

const invalid: unknown[] = [];

async function check(response: Response, chunks: Record<string, unknown>[]): Promise<void> {
  try {
    for await (const { data } of sseMessages(response)) {
      if (data === undefined || data === '[DONE]') continue;
      const chunk = JSON.parse(data);
      chunks.push(chunk);
      const result = await asSchema(uiMessageChunkSchema).validate?.(chunk);
      if (!result?.success) invalid.push(chunk);
    }
  } catch {
    // The client left.
  }
}

interface OpenChat {
  readonly chat: Chat<UIMessage>;
  readonly chunks: Record<string, unknown>[];
}

/** A chat as a page opens it: with the messages that the server has. */
async function openChat({ url, json }: Served, id = 'a'): Promise<OpenChat> {
  const { messages } = (await json(`/sessions/${id}/ui-messages`)) as { messages: UIMessage[] };
  const chunks: Record<string, unknown>[] = [];
  const api = `${url}/sessions/${id}/ui-messages`;
  const headers = { 'x-holdfast-request': '1' };
  const chat = new Chat<UIMessage>({
    id,
    messages,
    transport: new DefaultChatTransport({
      api,
      headers,
      fetch: checkingFetch(chunks),
      prepareSendMessagesRequest: ({ messages: all }) => ({ body: { message: all.at(-1) }, headers }),
      prepareReconnectToStreamRequest: () => ({ api: `${api}/stream`, headers }),
    }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  return { chat, chunks };
}

/** What a page shows: texts and tools, without the parts that carry blocks for operators. */
function shown(messages: readonly UIMessage[]): readonly unknown[] {
  return messages.map(({ role, parts }) => [
    role,
    ...parts.flatMap((part): unknown[] => {
      if (part.type === 'text' || part.type === 'reasoning') return [`${part.type}: ${part.text}`];
      if (part.type !== 'dynamic-tool') return [];
      const outcome = part.errorText ?? part.output ?? '';
      return [`${part.toolName} ${JSON.stringify(part.input)} → ${part.state} ${outcome}`];
    }),
  ]);
}

const textOf = (messages: readonly UIMessage[]): string =>
  (messages.at(-1)?.parts ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('|');

const weather = defineTool({
  name: 'weather',
  description: 'The weather',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: ({ city }, ctx) => {
    ctx.progress('looking');
    if (city === 'Atlantis') throw new Error('no such city');
    return `sunny in ${city}`;
  },
});

/** Thinks, calls tools in pieces, and responds. */
const talkative: Model = {
  provider: 'test',
  modelId: 'talkative',
  async *stream({ turn }): AsyncIterable<ModelPart> {
    const text = turn === 1 ? ['Let me ', 'look. '] : ['It is ', '🙂 sunny.'];
    yield { type: 'reasoning-delta', blockId: 'r', delta: 'Hmm' };
    for (const delta of text) yield { type: 'text-delta', blockId: 't', delta };
    const cities = turn === 1 ? ['Rome', 'Atlantis'] : [];
    const toolCalls = cities.map((city, i) => ({
      callId: `c${i}`,
      name: 'weather',
      arguments: JSON.stringify({ city }),
    }));
    for (const { callId, arguments: input } of toolCalls) {
      yield { type: 'tool-input-delta', blockId: callId, toolName: 'weather', delta: input.slice(0, 5) };
      yield { type: 'tool-input-delta', blockId: callId, toolName: 'weather', delta: input.slice(5) };
    }
    const content = [{ type: 'reasoning', text: 'Hmm' } as const, { type: 'text', text: text.join('') } as const];
    yield { type: 'finish', response: { content, toolCalls } };
  },
};
const prompt = definePrompt({ ns: 'test', key: 'weather', instructions: 'Help.', tools: [weather] });

test('a message is sent and its response streamed: reasoning, text, tools, steps; a reload shows the same', async () => {
  const served = await serve({ agents: () => createAgent({ model: talkative, prompt }) });
  const { chat, chunks } = await openChat(served);
  await chat.sendMessage({ text: 'Weather?' });
  expect(chat.status).toBe('ready');
  expect(shown(chat.messages)).toEqual([
    ['user', 'text: Weather?'],
    [
      'assistant',
      'reasoning: Hmm',
      'text: Let me look. ',
      'weather {"city":"Rome"} → output-available sunny in Rome',
      'weather {"city":"Atlantis"} → output-error no such city',
      'reasoning: Hmm',
      'text: It is 🙂 sunny.',
    ],
  ]);
  expect(chunks[0]).toMatchObject({ type: 'start' });
  expect(chunks.at(-1)).toEqual({ type: 'finish', finishReason: 'stop' });
  const count = (type: string): number => chunks.filter((chunk) => chunk.type === type).length;
  expect([count('start-step'), count('finish-step'), count('text-end'), count('reset-step')]).toEqual([2, 2, 2, 0]);
  const reloaded = await openChat(served);
  expect(shown(reloaded.chat.messages)).toEqual(shown(chat.messages));
  expect(reloaded.chat.messages.map(({ id }) => id)).toEqual(chat.messages.map(({ id }) => id));
  await chat.sendMessage({ text: 'Again?' });
  expect(chat.messages).toHaveLength(4);
  expect(invalid).toEqual([]);
});

test('a page that is loaded again in the middle of a response gets it from its start, then live', async () => {
  const model = new HeldModel();
  const served = await serve({ agents: () => createAgent({ model, prompt: chatPrompt }) });
  const first = await openChat(served);
  const sending = first.chat.sendMessage({ text: 'Tell me.' });
  model.say('One ');
  await until(() => textOf(first.chat.messages) === 'One ');
  const second = await openChat(served);
  expect(shown(second.chat.messages)).toEqual([['user', 'text: Tell me.']]);
  const resuming = second.chat.resumeStream();
  await until(() => textOf(second.chat.messages) === 'One ');
  model.say('two ');
  model.say('three.');
  await until(() => textOf(second.chat.messages).startsWith('One two'));
  // The page that was there reconnects, too, as after a lost network.
  await first.chat.stop();
  await sending;
  const again = first.chat.resumeStream();
  model.say(undefined);
  await Promise.all([resuming, again]);
  expect(shown(second.chat.messages)).toEqual([
    ['user', 'text: Tell me.'],
    ['assistant', 'text: One two three.'],
  ]);
  expect(shown(first.chat.messages)).toEqual(shown(second.chat.messages));
  await second.chat.resumeStream();
  expect(second.chat.messages).toHaveLength(2);
  expect(invalid).toEqual([]);
});

test('stopping ends the response and keeps its text, on every page and after a reload', async () => {
  const model = new HeldModel();
  const served = await serve({ agents: () => createAgent({ model, prompt: chatPrompt }) });
  const { chat, chunks } = await openChat(served);
  const sending = chat.sendMessage({ text: 'Tell me.' });
  model.say('One two');
  await until(() => textOf(chat.messages) === 'One two');
  const stopped = await served.send('POST', '/sessions/a/stop', {});
  expect(await stopped.json()).toEqual({ cancelled: true, withdrawn: [] });
  await sending;
  expect(chunks.at(-1)).toEqual({ type: 'abort' });
  expect(textOf(chat.messages)).toBe('One two');
  const reloaded = await openChat(served);
  expect(shown(reloaded.chat.messages)).toEqual(shown(chat.messages));
  const next = chat.sendMessage({ text: 'Something else.' });
  model.say('Yes.');
  model.say(undefined);
  await next;
  expect(textOf(chat.messages)).toBe('Yes.');
  expect(invalid).toEqual([]);
});

test('a response that its provider broke off is reset: its text is not doubled', async () => {
  let tries = 0;
  const model: Model = {
    provider: 'test',
    modelId: 'breaking',
    async *stream() {
      const words = tries++ === 0 ? ['Good ', 'morn'] : ['Good ', 'evening.'];
      for (const delta of words) {
        yield { type: 'text-delta', blockId: 't', delta };
        await until(
          async () =>
            (await served.store.readDraft('a')).some((chunk) => chunk.delta.includes(delta)) || delta === 'evening.',
        );
      }
      await until(() => chunks.some(({ delta }) => delta === words[1]) || tries > 1);
      if (tries === 1) throw new ModelError('overloaded', { retryable: true, retryAfterMs: 1 });
      yield { type: 'finish', response: { content: [{ type: 'text', text: words.join('') }], toolCalls: [] } };
    },
  };
  const served = await serve({ agents: () => createAgent({ model, prompt: chatPrompt }) });
  const { chat, chunks } = await openChat(served);
  await chat.sendMessage({ text: 'Hello' });
  expect(tries).toBe(2);
  expect(textOf(chat.messages)).toBe('Good evening.');
  expect(chunks.some(({ type }) => type === 'reset-step')).toBe(true);
  expect(invalid).toEqual([]);
});

describe('approvals', () => {
  const agents = refunding;

  test.for([true, false])('a person decides in the chat (%s), and the same message continues', async (approved) => {
    const served = await serve({ agents });
    const { chat } = await openChat(served);
    await chat.sendMessage({ text: 'Refund.' });
    // A reload shows the request, too.
    const reloaded = (await openChat(served)).chat;
    for (const { messages } of [chat, reloaded]) {
      expect(messages.at(-1)?.parts).toContainEqual(expect.objectContaining({ state: 'approval-requested' }));
    }
    const part = reloaded.messages.at(-1)?.parts.find(({ type }) => type === 'dynamic-tool');
    const id = part?.type === 'dynamic-tool' ? (part.approval?.id ?? '') : '';
    await reloaded.addToolApprovalResponse({ id, approved, reason: 'because' });
    await until(() => reloaded.status === 'ready' && textOf(reloaded.messages) === 'Done.');
    expect(reloaded.messages).toHaveLength(2);
    const outcome = approved ? 'output-available refunded 80' : 'output-error This call was denied: because';
    expect(shown(reloaded.messages)[1]).toEqual(['assistant', `refund {"euros":80} → ${outcome}`, 'text: Done.']);
    expect(shown((await openChat(served)).chat.messages)).toEqual(shown(reloaded.messages));
    const { messages } = (await served.json('/sessions/a/messages')) as { messages: { role: string }[] };
    expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(1);
    expect(invalid).toEqual([]);
  });

  test('a message that is sent while a call waits is queued, and the chat says so', async () => {
    const served = await serve({ agents });
    const { chat } = await openChat(served);
    await chat.sendMessage({ text: 'Refund.' });
    await chat.sendMessage({ text: 'Hurry!' });
    expect(chat.error?.message).toContain('APPROVAL_REQUIRED');
    expect(await served.json('/sessions/a/queue')).toMatchObject({ inputs: [{ waitsFor: 'APPROVAL_REQUIRED' }] });
  });
});

test('a failed evaluation is an error of the chat', async () => {
  const model = scriptedModel(() => ({ error: { status: 400 } }));
  const served = await serve({ agents: () => createAgent({ model, prompt: chatPrompt }) });
  const { chat } = await openChat(served);
  await chat.sendMessage({ text: 'Hello' });
  expect(chat.status).toBe('error');
  expect(chat.error?.message).not.toBe('');
  expect(invalid).toEqual([]);
});

test('subagents and steers are parts of the message that they belong to', async () => {
  const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Study.' });
  const study = defineSubagent({ name: 'study', description: 'Studies', prompt: child });
  const lead = definePrompt({ ns: 'test', key: 'lead', instructions: 'Lead.', tools: [study] });
  const store = memoryStore();
  const steering: Model = {
    provider: 'test',
    modelId: 'steering',
    async *stream({ prompt: { key }, turn, messages }) {
      const calls = key === 'lead' && turn === 1 ? [{ callId: 'c', name: 'study', arguments: '{"input":"ants"}' }] : [];
      if (key === 'child') {
        const session = await openSession({ store, id: 'a' });
        await session.send('In French.', { mode: 'steer', id: 'steer' });
      }
      const text = `${key} ${turn} after ${messages.length}`;
      yield { type: 'text-delta', blockId: 't', delta: text };
      yield { type: 'finish', response: { content: [{ type: 'text', text }], toolCalls: calls } };
    },
  };
  const served = await serve({ store, agents: () => createAgent({ model: steering, prompt: lead }) });
  const { chat } = await openChat(served);
  await chat.sendMessage({ text: 'Go.' });
  const [, response] = chat.messages;
  expect(response?.parts).toContainEqual(
    expect.objectContaining({ type: 'steering-message', parts: [{ type: 'text', text: 'In French.' }] }),
  );
  expect(response?.parts).toContainEqual(
    expect.objectContaining({
      type: 'data-holdfast-block',
      data: expect.objectContaining({ type: 'subagent', status: 'complete' }),
    }),
  );
  expect(textOf(chat.messages)).toBe('lead 1 after 2|lead 2 after 5');
  expect(invalid).toEqual([]);
});

test('a post that is repeated gets the same response, and runs nothing again', async () => {
  const served = await serve({ agents: () => createAgent({ model: talkative, prompt }) });
  const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Weather?' }] };
  const post = async (body: object): Promise<string> =>
    (await served.send('POST', '/sessions/a/ui-messages', body)).text();
  const first = await post({ message });
  const second = await post({ id: 'a', messages: [message], trigger: 'submit-message', extra: 1 });
  const texts = (stream: string): string =>
    Array.from(stream.matchAll(/"delta":"([^"]*)"/g), ([, text]) => text).join('');
  expect(texts(second)).toBe(texts(first));
  expect((await served.json('/sessions/a/evaluations')).evaluations).toHaveLength(1);
  // The response to a message that the client names is replayed even when it is finished.
  const replayed = await (await served.send('GET', '/sessions/a/ui-messages/stream?message=m1')).text();
  expect(texts(replayed)).toBe(texts(first));
  expect((await served.send('GET', '/sessions/a/ui-messages/stream')).status).toBe(204);
  expect((await served.send('GET', '/sessions/a/ui-messages/stream?message=none')).status).toBe(204);
});

test('a chat that has not begun is empty, and has nothing to reconnect to', async () => {
  const served = await serve();
  expect(await served.json('/sessions/new/ui-messages')).toEqual({ messages: [] });
  expect((await served.send('GET', '/sessions/new/ui-messages/stream')).status).toBe(204);
  expect(await served.json('/sessions')).toEqual({ sessions: [] });
});

test('a message that waits for a runner is shown, streamed to who reconnects, and aborted when it is withdrawn', async () => {
  const served = await serve();
  const session = await openSession({ store: served.store, id: 'a' });
  await session.send('Hello', { id: 'm1' });
  expect(await served.json('/sessions/a/ui-messages')).toMatchObject({
    messages: [{ id: 'm1', metadata: { queued: true } }],
  });
  const messages = sseMessages(await served.send('GET', '/sessions/a/ui-messages/stream'));
  const reading = readUntil(messages, ({ data }) => data === '[DONE]');
  await until(() => served.server.stats().streams === 1);
  await session.withdraw('m1');
  expect((await reading).map(({ data }) => data)).toEqual(['{"type":"abort"}', '[DONE]']);
});

test.for([
  {},
  { message: { id: 'm', role: 'system', parts: [] } },
  { message: { id: 'm', role: 'user', parts: [] } },
  { message: { id: 'm', role: 'user', parts: [{ type: 'tool-x' }] } },
  { message: { role: 'user', parts: [{ type: 'text', text: 'x' }] } },
  { message: { id: 'm', role: 'assistant', parts: [{ type: 'text', text: 'x' }] } },
  { messages: [] },
  { message: { id: 'm', role: 'user', parts: [{ type: 'text', text: 'x' }] }, trigger: 'regenerate-message' },
])('a post that holds nothing to send is INVALID_ARGUMENT: %j', async (body) => {
  const served = await serve();
  expect(await codeOf(await served.send('POST', '/sessions/a/ui-messages', body))).toBe('400 INVALID_ARGUMENT');
});
