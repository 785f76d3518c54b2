import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { limitsFrom } from '../../src/history.ts';

/** Limits that a provider reports at its models endpoint. The server is local; its bodies are those of real providers. */

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

interface Served {
  readonly url: string;
  readonly requests: IncomingMessage[];
}

async function serve(body: unknown, status = 200): Promise<Served> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    const headers = { 'content-type': 'application/json', location: 'http://127.0.0.1:9/' };
    response.writeHead(status, headers).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/models`, requests };
}

describe('limits that a provider reports', () => {
  test.for<[string, unknown, string, object]>([
    [
      'Anthropic: a window that the response shares',
      { type: 'model', id: 'claude', max_input_tokens: 200_000, max_tokens: 20_000 },
      'claude',
      { model: 'claude', maxTokens: 180_000, maxOutputTokens: 20_000 },
    ],
    [
      'OpenRouter: the smaller of what the gateway and its provider read',
      {
        data: [
          { id: 'other', context_length: 8_000 },
          {
            id: 'a/b',
            context_length: 128_000,
            top_provider: { context_length: 100_000, max_completion_tokens: 10_000 },
          },
        ],
      },
      'a/b',
      { model: 'a/b', maxTokens: 90_000, maxOutputTokens: 10_000 },
    ],
    [
      'vLLM: a window alone leaves a quarter for the response',
      { object: 'list', data: [{ id: 'served', max_model_len: 32_000 }] },
      'served',
      { model: 'served', maxTokens: 24_000 },
    ],
    [
      'Google: a limit of the request alone is taken whole',
      { name: 'models/gemini', inputTokenLimit: 1_000_000, outputTokenLimit: 64_000 },
      'gemini',
      { model: 'gemini', maxTokens: 1_000_000, maxOutputTokens: 64_000 },
    ],
  ])('%s', async ([, body, model, limits]) => {
    const { url } = await serve(body);
    expect(await limitsFrom(url, { model })).toEqual(limits);
  });

  test('the response gets as much of the window as the caller wants', async () => {
    const { url } = await serve({ id: 'm', context_length: 10_000 });
    expect(await limitsFrom(url, { maxOutputTokens: 1_000 })).toEqual({ model: 'm', maxTokens: 9_000 });
  });

  test('one GET request is sent, with the headers of the caller', async () => {
    const { url, requests } = await serve({ id: 'm', context_length: 10_000 });
    await limitsFrom(url, { headers: { 'x-api-key': 'secret' } });
    expect(requests.map(({ method, headers }) => [method, headers['x-api-key']])).toEqual([['GET', 'secret']]);
  });
});

describe('a provider that reports none', () => {
  const openAI = { object: 'list', data: [{ id: 'gpt', object: 'model' }] };

  test.for<[string, unknown, number, RegExp]>([
    ['lists the model without limits', openAI, 200, /its response names no limit/],
    ['does not list the model', { data: [{ id: 'a' }, { id: 'b' }] }, 200, /does not list "gpt"/],
    ['refuses the key', {}, 401, /status 401/],
    ['redirects: the key is for the address that was given', {}, 302, /reports no limits of gpt/],
    ['returns something else', 'models', 200, /does not list "gpt"/],
  ])('%s: a typed error that says what to give, or the limit of the table', async ([, body, status, why]) => {
    const { url } = await serve(body, status);
    await expect(limitsFrom(url, { model: 'gpt' })).rejects.toMatchObject({
      code: 'PROVIDER_FAILED',
      message: expect.stringMatching(why),
    });
    expect(await limitsFrom(url, { model: 'gpt', models: { gpt: 100_000 } })).toEqual({
      model: 'gpt',
      maxTokens: 100_000,
    });
  });

  test('an address that lists several models needs the name of one', async () => {
    const { url } = await serve({ data: [{ id: 'a', context_length: 1 }, { id: 'b' }] });
    await expect(limitsFrom(url)).rejects.toThrow(/lists several models/);
  });
});
