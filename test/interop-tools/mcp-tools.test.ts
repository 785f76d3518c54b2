import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { type AnyTool, isToolProgress, mcpTools } from '../../src/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { advancing, agent, call, resultText } from '../loop/agent.ts';

/** Tools of a real MCP server, over a real client. */

async function connect(register: (server: McpServer) => void): Promise<Client> {
  const server = new McpServer({ name: 'test', version: '1.0.0' });
  register(server);
  const client = new Client({ name: 'holdfast', version: '1.0.0' });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(far), client.connect(near)]);
  onTestFinished(() => client.close());
  return client;
}

const named = (tools: readonly AnyTool[], name: string): AnyTool | undefined => tools.find((one) => one.name === name);

describe('mcpTools', () => {
  test("lists a server's tools, describes them to the model, and runs them at the server", async () => {
    const add = vi.fn(async ({ a, b }: { a: number; b: number }) => ({
      content: [{ type: 'text' as const, text: String(a + b) }],
    }));
    const client = await connect((server) => {
      server.registerTool('add', { description: 'Adds', inputSchema: { a: z.number(), b: z.number() } }, add);
    });
    const { session, evaluate, requests, results } = await agent({
      script: [{ toolCalls: [call('add', { a: 1, b: 2 }), call('add', { a: 'one' })] }, 'ok'],
      tools: await mcpTools(client),
    });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(requests[0]?.tools).toMatchObject([
      { name: 'add', description: 'Adds', inputSchema: { type: 'object', required: ['a', 'b'] } },
    ]);
    expect(resultText(session, 'call_1_1')).toBe('3');
    expect(results().call_1_2?.isError).toBe(true); // the server validates the arguments
    expect(add).toHaveBeenCalledTimes(1);
  });

  test('progress notifications of the server are progress of the call (D62)', async () => {
    const client = await connect((server) => {
      server.registerTool('slow', {}, async ({ _meta, sendNotification }) => {
        const { progressToken = '' } = _meta ?? {};
        const params = { progressToken, progress: 1, total: 4, message: 'a quarter' };
        await sendNotification({ method: 'notifications/progress', params });
        return { content: [{ type: 'text' as const, text: 'ok' }] };
      });
    });
    const { evaluate, events } = await agent({
      script: [{ toolCalls: [call('slow')] }, 'ok'],
      tools: await mcpTools(client),
    });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(events.filter(isToolProgress)).toMatchObject([
      { toolName: 'slow', text: 'a quarter\n', percent: 25, data: { progress: 1, total: 4 } },
    ]);
  });

  test("their effect is the server's hint, `once` without one, or the caller's choice (D18)", async () => {
    const client = await connect((server) => {
      const reply = async () => ({ content: [] });
      server.registerTool('silent', {}, reply);
      server.registerTool('reads', { annotations: { readOnlyHint: true } }, reply);
      server.registerTool('repeats', { annotations: { idempotentHint: true } }, reply);
      server.registerTool('said', { annotations: { readOnlyHint: true } }, reply);
    });
    const tools = await mcpTools(client, { effect: (name) => (name === 'said' ? 'once' : undefined) });
    expect(tools.map(({ name, effect }) => `${name}: ${effect}`)).toEqual([
      'silent: once',
      'reads: read',
      'repeats: idempotent',
      'said: once',
    ]);
  });

  test('results may be text, media, resources, structured content, errors or empty', async () => {
    const client = await connect((server) => {
      server.registerTool('mixed', {}, async () => ({
        content: [
          { type: 'text', text: 'Here:' },
          { type: 'image', mimeType: 'image/png', data: 'AAEC' },
          { type: 'audio', mimeType: 'audio/wav', data: 'AAEC' },
          { type: 'resource', resource: { uri: 'file:///a.txt', text: 'inside' } },
          { type: 'resource', resource: { uri: 'file:///a.png', mimeType: 'image/png', blob: 'AAEC' } },
          { type: 'resource_link', uri: 'file:///b', name: 'b' },
        ],
      }));
      server.registerTool('data', { outputSchema: { n: z.number() } }, async () => ({
        content: [],
        structuredContent: { n: 1 },
      }));
      server.registerTool('fails', {}, async () => ({ content: [{ type: 'text', text: 'not today' }], isError: true }));
      server.registerTool('throws', {}, async () => {
        throw new Error('broken inside');
      });
      server.registerTool('nothing', {}, async () => ({ content: [] }));
    });
    const names = ['mixed', 'data', 'fails', 'throws', 'nothing'];
    const { session, evaluate, results } = await agent({
      script: [{ toolCalls: names.map((name) => call(name, {}, name)) }, 'ok'],
      tools: await mcpTools(client),
    });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(results().mixed?.content).toEqual([
      { type: 'text', text: 'Here:' },
      { type: 'image', mediaType: 'image/png', data: 'AAEC' },
      { type: 'file', mediaType: 'audio/wav', data: 'AAEC' },
      { type: 'text', text: 'inside' },
      { type: 'image', mediaType: 'image/png', data: 'AAEC', filename: 'file:///a.png' },
      { type: 'text', text: expect.stringContaining('"uri":"file:///b"') },
    ]);
    expect(resultText(session, 'data')).toBe('{"n":1}');
    expect(results().fails).toMatchObject({ isError: true, content: [{ text: 'not today' }] });
    expect(results().throws).toMatchObject({ isError: true, content: [{ text: 'broken inside' }] });
    expect(resultText(session, 'nothing')).toBe('');
  });

  test('names that providers reject are sent in an accepted form, and the server gets the original', async () => {
    const called: string[] = [];
    const names = ['repo.search', 'repo/search', '2fast', `long.${'x'.repeat(100)}`];
    const client = await connect((server) => {
      for (const name of names) {
        server.registerTool(name, {}, async () => ({ content: [{ type: 'text', text: String(called.push(name)) }] }));
      }
    });
    const tools = await mcpTools(client);
    expect(tools.map(({ name }) => name)).toEqual(['repo_search', 'repo_search_2', '_2fast', `long_${'x'.repeat(59)}`]);
    const { evaluate } = await agent({ script: [{ toolCalls: tools.map(({ name }) => call(name)) }, 'ok'], tools });
    await evaluate({ maxParallelCalls: 1 });
    expect(called).toEqual(names);
  });

  test('reads every page of a long list', async () => {
    const pages: Record<string, { tools: { name: string; inputSchema: object }[]; nextCursor?: string }> = {
      first: { tools: [{ name: 'a', inputSchema: {} }], nextCursor: 'second' },
      second: { tools: [{ name: 'b', inputSchema: {} }] },
    };
    const client = {
      listTools: async ({ cursor = 'first' }: { cursor?: string } = {}) => pages[cursor] as never,
      callTool: async () => ({ content: [] }),
    };
    expect((await mcpTools(client)).map(({ name }) => name)).toEqual(['a', 'b']);
  });

  test("the client does not time out a long call: a once call's outcome would be lost", async () => {
    const client = await connect((server) => {
      server.registerTool('slow', {}, async () => ({ content: [{ type: 'text', text: 'done' }] }));
    });
    const callTool = vi.spyOn(client, 'callTool');
    const { evaluate } = await agent({ script: [{ toolCalls: [call('slow')] }, 'ok'], tools: await mcpTools(client) });
    await evaluate();
    expect(callTool.mock.calls[0]?.[2]?.timeout).toBeGreaterThan(86_400_000);
  });

  test("the loop's timeout cancels the call at the server; the outcome of a once call is unknown (D20)", async () => {
    const clock = fakeClock();
    const cancelled = Promise.withResolvers<void>();
    const client = await connect((server) => {
      server.registerTool('slow', {}, ({ signal }) => {
        signal.addEventListener('abort', () => cancelled.resolve());
        return new Promise(() => {});
      });
    });
    const slow = { ...(named(await mcpTools(client), 'slow') as AnyTool), timeoutMs: 1_000 };
    const { evaluate } = await agent({ script: [{ toolCalls: [call('slow')] }, 'ok'], tools: [slow], clock });
    expect(await advancing(clock, evaluate())).toMatchObject({ status: 'suspended', reason: 'TOOL_OUTCOME_UNKNOWN' });
    await cancelled.promise;
  });

  test('a disconnected server gives a failed result', async () => {
    const client = await connect((server) => {
      server.registerTool('gone', {}, async () => ({ content: [] }));
    });
    const tools = await mcpTools(client);
    await client.close();
    const { evaluate, results } = await agent({ script: [{ toolCalls: [call('gone')] }, 'ok'], tools });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(results().call_1_1?.isError).toBe(true);
  });
});
