import { anthropic } from '@ai-sdk/anthropic';
import { openai } from '@ai-sdk/openai';
import { describe, expect, test } from 'vitest';
import { textOf } from '../../src/core/log/messages.ts';
import { ModelError } from '../../src/ports/model.ts';
import { ask, askInVain, blocksIn, blocksOf, request } from './ask.ts';
import { Conversation, TOOLS } from './converse.ts';
import { modelOf, PROVIDERS, serve } from './providers.ts';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe.for(PROVIDERS)('%s', (provider) => {
  test('responds with text, streamed in order, with usage and a finish reason', async () => {
    const server = await serve([
      { text: 'Hello there, world.', usage: { inputTokens: 50, outputTokens: 7, cachedInputTokens: 20 } },
    ]);
    const chat = new Conversation().system('Be brief.').user('Hi');
    const { deltas, response } = await ask(modelOf(provider, server.url), request(1, chat.messages));
    expect(deltas.map(({ delta }) => delta)).toEqual(['Hello ', 'there, ', 'world.']);
    expect(blocksOf(deltas)).toEqual(blocksIn(response));
    expect(textOf(response)).toBe('Hello there, world.');
    expect(response).toMatchObject({ toolCalls: [], finishReason: 'stop' });
    expect(response.usage).toMatchObject({ inputTokens: 50, outputTokens: 7, cachedInputTokens: 20 });
    expect(response.providerMessageId).toMatch(/1$/);
    expect(server.refusals).toEqual([]);
  });

  test('parallel calls are sent back with their results, in call order (D10, I4)', async () => {
    const server = await serve([
      {
        text: 'Reading.',
        toolCalls: [
          { name: 'read', arguments: { path: 'a' } },
          { name: 'write', arguments: { path: 'b', text: 'two words' } },
        ],
      },
      { toolCalls: [{ name: 'read', arguments: {} }] },
      'Done.',
    ]);
    const chat = new Conversation().system('Be brief.').user('Go');
    const response = await chat.run(modelOf(provider, server.url), {
      tools: TOOLS,
      tool: (name, args) => (name === 'write' ? new Error('read-only disk') : `content of ${args}`),
    });
    expect(textOf(response)).toBe('Done.');
    expect(server.refusals).toEqual([]);
    expect(server.requests).toHaveLength(3);
    const first = chat.messages[2];
    expect(first).toMatchObject({
      content: [{ type: 'text', text: 'Reading.' }],
      toolCalls: [
        { name: 'read', arguments: '{"path":"a"}' },
        { name: 'write', arguments: '{"path":"b","text":"two words"}' },
      ],
    });
    const sent = JSON.stringify(server.requests[2]?.body);
    expect(sent).toContain('read-only disk');
    expect(sent.indexOf('content of')).toBeLessThan(sent.indexOf('read-only disk'));
  });

  test('the deltas of a call are its arguments', async () => {
    const server = await serve([{ toolCalls: [{ name: 'read', arguments: '{"path": "a b c"}' }] }]);
    const { deltas, response } = await ask(
      modelOf(provider, server.url),
      request(1, new Conversation().user('Go').messages, { tools: TOOLS }),
    );
    expect(deltas.every(({ type }) => type === 'tool-input-delta')).toBe(true);
    expect(blocksOf(deltas)).toEqual({ 'call:0': '{"path": "a b c"}' });
    expect(response.finishReason).toBe('tool-calls');
  });

  test('the request of a longer conversation starts with that of the shorter one', async () => {
    const server = await serve([
      { text: 'a', toolCalls: [{ name: 'read', arguments: { path: 'a' } }] },
      { text: 'b', toolCalls: [{ name: 'read', arguments: { path: 'b' } }] },
      'c',
    ]);
    await new Conversation().system('Be brief.').user('Go').run(modelOf(provider, server.url), { tools: TOOLS });
    const said = server.requests.map(({ body }) => (body.messages ?? body.input) as readonly unknown[]);
    for (const [i, longer] of said.slice(1).entries()) {
      const shorter = said[i] ?? [];
      expect(longer.slice(0, shorter.length)).toEqual(shorter);
    }
  });

  test('images and files are sent', async () => {
    const server = await serve(['A pixel.']);
    const chat = new Conversation().user([
      { type: 'text', text: 'What is this?' },
      { type: 'image', mediaType: 'image/png', data: PIXEL },
      { type: 'image', mediaType: 'image/png', data: `data:image/png;base64,${PIXEL}` },
      { type: 'image', mediaType: 'image/jpeg', data: 'https://example.com/cat.jpg' },
      { type: 'file', mediaType: 'application/pdf', data: 'JVBERi0xLjQK', filename: 'paper.pdf' },
    ]);
    await ask(modelOf(provider, server.url), request(1, chat.messages));
    expect(server.refusals).toEqual([]);
    const sent = JSON.stringify(server.requests[0]?.body);
    expect(sent.split(PIXEL)).toHaveLength(3);
    expect(sent).toContain('https://example.com/cat.jpg');
    expect(sent).toContain('JVBERi0xLjQK');
  });

  test('a tool may return an image', async () => {
    const server = await serve([{ toolCalls: [{ name: 'read', arguments: { path: 'cat.png' } }] }, 'A cat.']);
    const tool = () => [
      { type: 'text', text: 'Here it is' } as const,
      { type: 'image', mediaType: 'image/png', data: PIXEL } as const,
    ];
    await new Conversation().user('Look').run(modelOf(provider, server.url), { tools: TOOLS, tool });
    expect(server.refusals).toEqual([]);
    const sent = JSON.stringify(server.requests[1]?.body);
    expect(sent).toContain('Here it is');
    // As an image, never as base64 text, which costs a token for every few characters.
    expect(sent).toMatch(
      new RegExp(
        `(data:image/png;base64,|"type":"base64","media_type":"image/png","data":")${PIXEL.replaceAll('+', '\\+')}`,
      ),
    );
  });

  test.for([
    [429, true, 1500],
    [500, true, undefined],
    [529, true, undefined],
    [408, true, undefined],
    [401, false, undefined],
    [404, false, undefined],
  ] as const)('status %i is a ModelError, retryable: %s', async ([status, retryable, retryAfterMs]) => {
    const server = await serve(() => ({ error: { status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) } }));
    const { error, deltas } = await askInVain(
      modelOf(provider, server.url),
      request(1, new Conversation().user('Hi').messages),
    );
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({ status, retryable });
    expect((error as ModelError).retryAfterMs).toBe(retryAfterMs);
    expect(deltas).toEqual([]);
    // The loop decides about retries: it has the record, the deadline and the budget.
    expect(server.requests).toHaveLength(1);
  });

  test.for(['reset', 'end'] as const)('a connection that breaks within a stream (%s) is retryable', async (how) => {
    const server = await serve(({ attempt }) =>
      attempt === 1 ? { text: 'one two three four five', cut: { after: 5, how } } : 'one two three four five',
    );
    const model = modelOf(provider, server.url);
    const asked = request(1, new Conversation().user('Count').messages);
    const { error, deltas } = await askInVain(model, asked);
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({ retryable: true });
    expect(deltas.length).toBeGreaterThan(0);
    expect(textOf((await ask(model, asked)).response)).toBe('one two three four five');
  });

  test("a stream that breaks inside a call's arguments gives no response", async () => {
    const turn = { toolCalls: [{ name: 'read', arguments: '{"path": "a b c d e f"}' }] };
    for (const how of ['reset', 'end'] as const) {
      const server = await serve([{ ...turn, cut: { after: 4, how } }]);
      const asked = request(1, new Conversation().user('Go').messages, { tools: TOOLS });
      const { error, deltas } = await askInVain(modelOf(provider, server.url), asked);
      expect(error).toMatchObject({ retryable: true });
      expect(deltas.some(({ type }) => type === 'finish')).toBe(false);
    }
  });

  test('an error that the provider reports within a stream is retryable', async () => {
    const server = await serve([{ text: 'half an answer', error: { status: 500 } }]);
    const { error, deltas } = await askInVain(
      modelOf(provider, server.url),
      request(1, new Conversation().user('Hi').messages),
    );
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({ retryable: true });
    expect(deltas.length).toBeGreaterThan(0);
  });

  test('a refused connection is retryable', async () => {
    const server = await serve([]);
    await server.close();
    const { error } = await askInVain(
      modelOf(provider, server.url),
      request(1, new Conversation().user('Hi').messages),
    );
    expect(error).toMatchObject({ name: 'ModelError', retryable: true });
  });

  test('aborting stops the stream and throws the reason', async () => {
    const controller = new AbortController();
    const gate = Promise.withResolvers<void>();
    const server = await serve(['one two three four five six'], {
      beforeEvent: (n) => (n === 4 ? gate.promise : undefined),
    });
    const asked = request(1, new Conversation().user('Count').messages, { signal: controller.signal });
    const seen: string[] = [];
    const reason = new Error('enough');
    await expect(async () => {
      for await (const part of modelOf(provider, server.url).stream(asked)) {
        seen.push(part.type);
        controller.abort(reason);
      }
    }).rejects.toBe(reason);
    expect(seen).toEqual(['text-delta']);
    gate.resolve();
  });

  test('an aborted request is never sent', async () => {
    const server = await serve(['Hi']);
    const signal = AbortSignal.abort(new Error('too late'));
    const { error } = await askInVain(
      modelOf(provider, server.url),
      request(1, new Conversation().user('Hi').messages, { signal }),
    );
    expect(error).toMatchObject({ message: 'too late' });
    expect(server.requests).toEqual([]);
  });

  test('a reader that stops early ends the request', async () => {
    const gate = Promise.withResolvers<void>();
    const server = await serve(['one two three four five six'], {
      beforeEvent: (n) => (n === 5 ? gate.promise : undefined),
    });
    for await (const _ of modelOf(provider, server.url).stream(request(1, new Conversation().user('Hi').messages)))
      break;
    gate.resolve();
    expect(server.requests).toHaveLength(1);
  });

  test('the length limit is distinguished from a normal end', async () => {
    const server = await serve([{ text: 'cut off', truncated: true }]);
    const { response } = await ask(modelOf(provider, server.url), request(1, new Conversation().user('Hi').messages));
    expect(response.finishReason).toBe('length');
  });

  test('requests JSON of a schema', async () => {
    const server = await serve(({ api, body }) => {
      const usesTool = api === 'anthropic' && JSON.stringify(body.tools ?? '').includes('"json"');
      return usesTool ? { toolCalls: [{ name: 'json', arguments: { ok: true } }] } : '{"ok":true}';
    });
    const schema = {
      type: 'object',
      properties: { ok: { type: 'boolean' } },
      required: ['ok'],
      additionalProperties: false,
    };
    const { response } = await ask(
      modelOf(provider, server.url),
      request(1, new Conversation().user('Is it?').messages, { output: { name: 'verdict', schema } }),
    );
    expect(JSON.parse(textOf(response))).toEqual({ ok: true });
    expect(response.toolCalls).toEqual([]);
    expect(server.refusals).toEqual([]);
    expect(JSON.stringify(server.requests[0]?.body)).toContain(provider === 'compatible' ? 'json_object' : '"ok"');
  });

  test('a schema with optional properties is accepted', async () => {
    const server = await serve(['{}']);
    const schema = { type: 'object', properties: { note: { type: 'string' } } };
    await ask(
      modelOf(provider, server.url),
      request(1, new Conversation().user('Any notes?').messages, { output: { name: 'notes', schema } }),
    );
    expect(server.refusals).toEqual([]);
  });

  test('the worst possible log is sent coherently (D11, D20)', async () => {
    const server = await serve(() => 'fine');
    const same = (name: string, args: string) => ({
      content: [{ type: 'text' as const, text: '  \n' }],
      toolCalls: [
        { callId: 'functions.read:0', name, arguments: args },
        { callId: `long-${'x'.repeat(90)}`, name: 'write', arguments: '' },
      ],
    });
    const chat = new Conversation()
      .system('')
      .system('Be brief.')
      .user([
        { type: 'text', text: '' },
        { type: 'text', text: 'half a smile: \ud83d' },
      ]);
    for (const [name, args] of [
      ['read', '{"path": '],
      ['no such tool!', '[1, 2]'],
      ['', '{"path":"\\ud83d"}'],
    ] as const) {
      chat.assistant(same(name, args));
      chat.result('functions.read:0', name, '', true).result(`long-${'x'.repeat(90)}`, 'write', '');
    }
    chat.user(' ').user('And now?');
    await ask(modelOf(provider, server.url), request(4, chat.messages, { tools: TOOLS }));
    expect(server.refusals).toEqual([]);
    expect(server.requests).toHaveLength(1);
  });

  test('a history with calls continues without tools (D50)', async () => {
    const server = await serve([{ toolCalls: [{ name: 'read', arguments: { path: 'a' } }] }, 'Done.', 'Because.']);
    const chat = new Conversation().user('Go');
    await chat.run(modelOf(provider, server.url), { tools: TOOLS });
    await ask(modelOf(provider, server.url), request(3, chat.user('Why?').messages));
    expect(server.refusals).toEqual([]);
    const { body = {} } = server.requests[2] ?? {};
    if (body.tools !== undefined) expect(body.tool_choice).toEqual({ type: 'none' });
  });

  test('settings are sent with every request', async () => {
    const server = await serve(['ok']);
    const model = modelOf(provider, server.url, {
      modelId: 'small',
      maxOutputTokens: 77,
      temperature: 0.5,
      headers: { 'x-team': 'blue' },
    });
    await ask(model, request(1, new Conversation().user('Hi').messages));
    const { body = {}, headers } = server.requests[0] ?? {};
    expect(body.max_tokens ?? body.max_output_tokens ?? body.max_completion_tokens).toBe(77);
    expect(body.temperature).toBe(0.5);
    expect(headers).toMatchObject({ 'x-team': 'blue' });
  });

  test('has its provider and its model id', async () => {
    const { provider: name, modelId } = modelOf(provider, 'http://127.0.0.1:1', { modelId: 'm' });
    expect(name).toContain(provider === 'compatible' ? 'local' : provider);
    expect(modelId).toBe('m');
  });
});

describe('tools that the provider runs itself', () => {
  const script = [
    {
      webSearch: { query: 'weather', url: 'https://example.com/w', title: 'Weather' },
      text: 'It rains.',
      toolCalls: [{ name: 'read', arguments: { path: 'a' } }],
    },
    'Done.',
  ];
  const cases = [
    ['anthropic', { web_search: anthropic.tools.webSearch_20250305({ maxUses: 1 }) }],
    ['openai.responses', { web_search: openai.tools.webSearch({}) }],
  ] as const;

  test.for(cases)('%s: recorded with their result, sent back, never run here', async ([provider, tools]) => {
    const server = await serve(script);
    const chat = new Conversation().user('Weather?');
    const ran: string[] = [];
    await chat.run(modelOf(provider, server.url, { tools }), {
      tools: TOOLS,
      tool: (name) => {
        ran.push(name);
        return 'ok';
      },
    });
    expect(ran).toEqual(['read']);
    expect(server.refusals).toEqual([]);
    const [, first] = chat.messages;
    expect(first).toMatchObject({
      role: 'assistant',
      toolCalls: [
        { name: 'web_search', after: 0, providerExecuted: { result: expect.anything() } },
        { name: 'read', arguments: '{"path":"a"}' },
      ],
    });
    const replayed = JSON.stringify(server.requests[1]?.body);
    expect(replayed).toContain(provider === 'anthropic' ? 'web_search_tool_result' : 'web_search_call');
    expect(replayed.indexOf('weather')).toBeLessThan(replayed.indexOf('It rains.'));
  });

  test('a turn that the provider pauses is continued until it is complete', async () => {
    const server = await serve(({ attempt }) =>
      attempt === 1
        ? {
            reasoning: 'Let me look.',
            webSearch: { query: 'w', url: 'https://example.com/w', title: 'W' },
            pause: true,
          }
        : 'It rains.',
    );
    const chat = new Conversation().user('Weather?');
    const model = modelOf('anthropic', server.url, { tools: { web_search: anthropic.tools.webSearch_20250305({}) } });
    const { deltas, response } = await ask(model, request(1, chat.messages));
    expect(response.content.map(({ type }) => type)).toEqual(['reasoning', 'text']);
    expect(response.toolCalls).toMatchObject([{ name: 'web_search', after: 1 }]);
    expect(response.usage).toEqual({ inputTokens: 202, outputTokens: 20, cachedInputTokens: 0, cacheWriteTokens: 0 });
    expect(blocksOf(deltas)).toMatchObject({ 'reasoning:0': 'Let me look.', 'text:1': 'It rains.' });
    expect(server.refusals).toEqual([]);
    expect(server.requests).toHaveLength(2);
  });
});
