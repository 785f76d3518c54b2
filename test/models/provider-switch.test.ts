import { anthropic } from '@ai-sdk/anthropic';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ConversationMessage, callsOf } from '../../src/core/log/messages.ts';
import { fromAnthropic } from '../../src/formats/anthropic-messages.ts';
import type { ServerTurn } from '../support/provider-server/server-turn.ts';
import { ask, request } from './ask.ts';
import { Conversation, TOOLS } from './converse.ts';
import { modelOf, PROVIDERS, type Provider, serve } from './providers.ts';

/** One turn with a provider, with its calls run. */
async function step(chat: Conversation, provider: Provider, url: string): Promise<void> {
  const { response } = await ask(modelOf(provider, url), request(chat.turn + 1, chat.messages, { tools: TOOLS }));
  chat.assistant(response);
  for (const { callId, name } of callsOf(chat.messages.at(-1) as ConversationMessage)) chat.result(callId, name, 'ok');
}

const pairs = PROVIDERS.flatMap((from) => PROVIDERS.filter((to) => to !== from).map((to) => [from, to] as const));

describe('another provider continues a conversation', () => {
  test.for(pairs)('%s → %s → back, every request coherent (I4)', async ([from, to]) => {
    const server = await serve(({ turn }) => ({
      reasoning: `thought ${turn}`,
      ...(turn % 2 === 0 ? { text: `said ${turn}` } : {}),
      // The ids that Kimi and vLLM send, the same every turn.
      toolCalls: [
        { name: 'read', arguments: { path: 'a' }, id: 'functions.read:0' },
        { name: 'write', arguments: { path: 'b' }, id: `chatcmpl-tool-${'0123456789abcdef'.repeat(3)}` },
      ],
    }));
    const chat = new Conversation().system('Be brief.').user('Go');
    const order = [from, from, to, to, from, from, to];
    for (const provider of order) await step(chat, provider, server.url);
    expect(server.refusals).toEqual([]);
    expect(server.requests).toHaveLength(order.length);
    // Each turn is recorded with its own provider, and no request has another one's reasoning.
    const openai = (provider: string | undefined) => provider?.startsWith('openai') ?? false;
    for (const [i, { body }] of server.requests.entries()) {
      const sent = JSON.stringify(body);
      for (const [turn, provider] of order.slice(0, i).entries()) {
        const same = provider === order[i] || (openai(provider) && openai(order[i]));
        if (!same) expect(sent).not.toContain(`thought ${turn + 1}`);
      }
    }
  });

  test('a search that one provider ran is not sent to another as its own', async () => {
    const server = await serve(({ turn }) =>
      turn === 1
        ? {
            webSearch: { query: 'w', url: 'https://example.com/w', title: 'W' },
            text: 'It rains.',
            toolCalls: [{ name: 'read', arguments: {} }],
          }
        : 'Done.',
    );
    const chat = new Conversation().user('Weather?');
    const model = modelOf('anthropic', server.url, { tools: { web_search: anthropic.tools.webSearch_20250305({}) } });
    const { response } = await ask(model, request(1, chat.messages, { tools: TOOLS }));
    chat.assistant(response).result('toolu_1_1', 'read', 'ok');
    for (const provider of ['openai.chat', 'openai.responses', 'compatible'] as const) {
      await ask(modelOf(provider, server.url), request(2, chat.messages, { tools: TOOLS }));
    }
    expect(server.refusals).toEqual([]);
    for (const { body } of server.requests.slice(1)) {
      expect(JSON.stringify(body)).toContain('It rains.');
      expect(JSON.stringify(body)).not.toContain('web_search');
    }
  });

  test("a search from a transcript, in the provider's own form, is not sent to the client as its own", async () => {
    const server = await serve(() => 'Done.');
    const [question, response] = fromAnthropic({
      messages: [
        { role: 'user', content: 'Weather?' },
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
            {
              type: 'web_search_tool_result',
              tool_use_id: 'srvtoolu_1',
              content: [{ type: 'web_search_result', url: 'u' }],
            },
            { type: 'text', text: 'It rains.' },
          ],
        },
      ],
    });
    const messages = [
      question,
      response,
      ...new Conversation().user('And tomorrow?').messages,
    ] as ConversationMessage[];
    for (const provider of PROVIDERS) await ask(modelOf(provider, server.url), request(2, messages));
    expect(server.refusals).toEqual([]);
    for (const { body } of server.requests) expect(JSON.stringify(body)).toContain('It rains.');
  });

  const id = fc.oneof(fc.constantFrom('', 'call_1', 'functions.read:0', 'a b', 'é'), fc.string({ maxLength: 80 }));
  const text = fc.oneof(fc.constantFrom('', ' ', 'ok', '\ud800'), fc.string());
  const turn = fc.record(
    {
      reasoning: fc.string({ minLength: 1 }),
      text,
      toolCalls: fc.array(
        fc.record({
          name: fc.constantFrom('read', 'write', 'no such tool'),
          arguments: fc.oneof(fc.json(), fc.constantFrom('', '{"path":', '{"a":"\\udc00"}')),
          id,
        }),
        { maxLength: 3 },
      ),
    },
    { requiredKeys: [] },
  );
  const scene = fc.record({
    provider: fc.constantFrom(...PROVIDERS),
    turn,
    results: fc.array(fc.record({ text, isError: fc.boolean() }), { minLength: 3, maxLength: 3 }),
    user: fc.option(text, { nil: undefined }),
  });

  test('with any providers and messages in any order, every request is coherent (I4)', async () => {
    let next: ServerTurn = '';
    const server = await serve(() => next);
    await fc.assert(
      fc.asyncProperty(fc.array(scene, { minLength: 1, maxLength: 6 }), async (scenes) => {
        const before = server.refusals.length;
        const chat = new Conversation().system('Be brief.').user('Go');
        for (const { provider, turn: said, results, user } of scenes) {
          next = withUniqueIds(said);
          const { response } = await ask(
            modelOf(provider, server.url),
            request(chat.turn + 1, chat.messages, { tools: TOOLS }),
          );
          chat.assistant(response);
          const calls = callsOf(chat.messages.at(-1) as ConversationMessage);
          for (const [i, { callId, name }] of calls.entries()) {
            chat.result(callId, name, results[i]?.text ?? '', results[i]?.isError);
          }
          // A request is sent again because there is new input.
          if (calls.length === 0) chat.user(user || 'Go on');
          else if (user !== undefined) chat.user(user);
        }
        expect(server.refusals.slice(before)).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});

/** A provider may repeat ids between turns, and omit them; within one response it does not repeat them. */
function withUniqueIds(turn: Exclude<ServerTurn, string>): ServerTurn {
  const used = new Set<string>();
  return {
    ...turn,
    ...(turn.toolCalls
      ? {
          toolCalls: turn.toolCalls.filter(({ id = '' }) => {
            if (used.has(id)) return false;
            used.add(id);
            return true;
          }),
        }
      : {}),
  };
}
