import { describe, expect, test } from 'vitest';
import type { ReasoningPart } from '../../src/core/log/messages.ts';
import { ask, request } from './ask.ts';
import { Conversation, TOOLS } from './converse.ts';
import { modelOf, type Provider, serve } from './providers.ts';

const THINKERS = ['openai.responses', 'anthropic', 'compatible'] as const satisfies readonly Provider[];

const read = { name: 'read', arguments: { path: 'a' } };
const THREE_TURNS = [
  { reasoning: 'First I read.', text: 'Reading.', toolCalls: [read] },
  { reasoning: 'Then again.', toolCalls: [read, read] },
  { reasoning: 'Enough.', text: 'Done.' },
];

/** The reasoning in a request, in any provider's format. */
function thoughtsIn(body: unknown): readonly string[] {
  const thoughts: string[] = [];
  JSON.stringify(body, (key, value: unknown) => {
    if (key === 'thinking' && typeof value === 'string') thoughts.push(value);
    if (key === 'reasoning_content') thoughts.push(String(value));
    if (key === 'summary' && Array.isArray(value)) thoughts.push(value.map(({ text }) => text).join(''));
    return value;
  });
  return thoughts;
}

describe('reasoning', () => {
  test.for(THINKERS)('%s gets its reasoning back unchanged, with its signature', async (provider) => {
    const server = await serve(THREE_TURNS);
    const chat = new Conversation().system('Be brief.').user('Go');
    await chat.run(modelOf(provider, server.url), { tools: TOOLS });
    await ask(modelOf(provider, server.url), request(4, chat.user('Why?').messages, { tools: TOOLS })).catch(
      () => undefined,
    );
    expect(server.refusals).toEqual([]);
    expect(server.requests.map(({ body }) => thoughtsIn(body))).toEqual([
      [],
      ['First I read.'],
      ['First I read.', 'Then again.'],
      ['First I read.', 'Then again.', 'Enough.'],
    ]);
    const [thought] = chat.messages[2]?.content ?? [];
    expect(thought).toMatchObject({ type: 'reasoning', text: 'First I read.', provider: expect.any(String) });
    if (provider === 'anthropic') expect(thought).toMatchObject({ signature: expect.any(String) });
    if (provider === 'openai.responses') expect(thought).toMatchObject({ redacted: expect.any(String) });
  });

  test('reasoning that is not shown is sent back, too', async () => {
    const server = await serve([{ redacted: 'secret', text: 'Reading.', toolCalls: [read] }, 'Done.']);
    const chat = new Conversation().user('Go');
    await chat.run(modelOf('anthropic', server.url), { tools: TOOLS });
    expect(server.refusals).toEqual([]);
    expect(chat.messages[1]?.content[0]).toMatchObject({ type: 'reasoning', text: '', redacted: expect.any(String) });
    expect(JSON.stringify(server.requests[1]?.body)).toContain('redacted_thinking');
  });

  test.for(['openai.responses', 'anthropic'] as const)('%s: another model does not get it', async (provider) => {
    const server = await serve(THREE_TURNS);
    const chat = new Conversation().user('Go');
    const { response } = await ask(modelOf(provider, server.url), request(1, chat.messages, { tools: TOOLS }));
    chat.assistant(response).result(response.toolCalls[0]?.callId ?? '', 'read', 'ok');
    const other = modelOf(provider, server.url, {
      modelId: provider === 'anthropic' ? 'claude-opus-4-1' : 'gpt-5-mini',
    });
    await ask(other, request(2, chat.messages, { tools: TOOLS }));
    expect(server.refusals).toEqual([]);
    expect(thoughtsIn(server.requests[1]?.body)).toEqual([]);
  });

  test('reasoning without content after it is recorded, and not sent', async () => {
    for (const provider of THINKERS) {
      const server = await serve(({ turn, attempt }) =>
        turn === 1 && attempt === 1 ? { reasoning: 'Hmm, what if', truncated: true } : 'Yes.',
      );
      const chat = new Conversation().user('Well?');
      const { response } = await ask(modelOf(provider, server.url), request(1, chat.messages));
      expect(response).toMatchObject({
        content: [{ type: 'reasoning', text: 'Hmm, what if' }],
        finishReason: 'length',
      });
      await ask(modelOf(provider, server.url), request(2, chat.assistant(response).user('So?').messages));
      expect(server.refusals).toEqual([]);
    }
  });

  test('a request whose reasoning the provider rejects is retried without it: a cut history breaks the signature', async () => {
    const server = await serve(() => ({ reasoning: 'Hmm.', text: 'Yes.' }));
    const chat = new Conversation().user('One');
    await chat.run(modelOf('anthropic', server.url));
    await chat.user('Two').run(modelOf('anthropic', server.url));
    const cut = chat.user('Three').messages.slice(2);
    const { response } = await ask(modelOf('anthropic', server.url), request(3, cut));
    expect(response.content).toMatchObject([{ type: 'reasoning' }, { type: 'text', text: 'Yes.' }]);
    expect(server.refusals).toEqual([expect.stringContaining('bound to a different conversation')]);
    expect(server.requests.map(({ body }) => thoughtsIn(body).length)).toEqual([0, 1, 1, 0]);
  });

  test('a rejection for another reason is not retried', async () => {
    const server = await serve(({ turn }) =>
      turn === 1 ? { reasoning: 'Hmm.', text: 'Yes.' } : { error: { status: 400 } },
    );
    const chat = new Conversation().user('One');
    await chat.run(modelOf('anthropic', server.url));
    const model = modelOf('anthropic', server.url);
    await expect(ask(model, request(2, chat.user('Two').messages))).rejects.toMatchObject({
      status: 400,
      retryable: false,
    });
    expect(server.requests).toHaveLength(2);
  });

  test('OpenAI is requested to store nothing by default', async () => {
    const server = await serve(THREE_TURNS);
    await new Conversation().user('Go').run(modelOf('openai.responses', server.url), { tools: TOOLS });
    expect(server.requests.every(({ body }) => body.store === false)).toBe(true);

    const keeping = await serve(THREE_TURNS);
    const model = modelOf('openai.responses', keeping.url, { providerOptions: { openai: { store: true } } });
    await new Conversation().user('Go').run(model, { tools: TOOLS });
    expect(keeping.refusals).toEqual([]);
    expect(JSON.stringify(keeping.requests[2]?.body)).toContain('"item_reference"');
  });

  test('reasoning of unknown origin is not sent', async () => {
    const server = await serve(() => 'Yes.');
    const thought: ReasoningPart = { type: 'reasoning', text: 'Hmm.', signature: 'abc' };
    const chat = new Conversation()
      .user('One')
      .assistant({ content: [thought, { type: 'text', text: 'No.' }], toolCalls: [] });
    for (const provider of THINKERS) {
      await ask(modelOf(provider, server.url), request(2, chat.user('Sure?').messages));
    }
    expect(server.refusals).toEqual([]);
    expect(server.requests.flatMap(({ body }) => thoughtsIn(body))).toEqual([]);
  });
});
