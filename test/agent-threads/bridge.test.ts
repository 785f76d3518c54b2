import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { openBridge } from '../../src/agents/opencode/opencode-bridge.ts';
import { defineTool } from '../../src/loop/define/define-tool.ts';
import type { ToolOutcome } from '../../src/loop/define/tool-result.ts';

/** The bridge to OpenCode: its responses to OpenCode's MCP client and to our plugin in its process. */

const tool = defineTool({ name: 'wait', description: 'Waits', input: z.object({}), effect: 'read', execute: () => '' });

async function ask(url: string, path: string, body: object): Promise<Response> {
  return fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', ...body }) });
}

test('a call gets response headers at once and its result later: the client times out a silent call after minutes', async () => {
  const ended = Promise.withResolvers<ToolOutcome>();
  const calls: unknown[] = [];
  const bridge = await openBridge({
    tools: [tool],
    before: async () => {},
    request: async () => {},
    call: (name, args) => {
      calls.push([name, args]);
      return ended.promise;
    },
  });
  try {
    const response = await ask(bridge.url, '/mcp', {
      id: 1,
      method: 'tools/call',
      params: { name: 'wait', arguments: { for: 'it' } },
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(calls).toEqual([['wait', { for: 'it' }]]);
    ended.resolve({ content: [{ type: 'text', text: 'over\n\nand out' }], isError: false });
    const [line = ''] = (await response.text()).split('\n').filter((text) => text.startsWith('data: '));
    expect(JSON.parse(line.slice('data: '.length))).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: { isError: false, content: [{ type: 'text', text: 'over\n\nand out' }] },
    });
  } finally {
    await bridge.close();
  }
});

test('other requests get one complete response; an unknown address gets none', async () => {
  const bridge = await openBridge({
    tools: [tool],
    before: async () => {},
    request: async () => {},
    call: () => Promise.reject(new Error('not called')),
  });
  try {
    const list = await ask(bridge.url, '/mcp', { id: 2, method: 'tools/list' });
    expect(list.headers.get('content-type')).toBe('application/json');
    expect(await list.json()).toMatchObject({ id: 2, result: { tools: [{ name: 'wait' }] } });
    expect((await ask(bridge.url, '/mcp', { method: 'notifications/initialized' })).status).toBe(202);
    expect((await fetch(`${bridge.url}/mcp`)).status).toBe(405);
    expect((await ask(new URL(bridge.url).origin, '/mcp', { id: 3, method: 'tools/list' })).status).toBe(404);
  } finally {
    await bridge.close();
  }
});

/** A request whose body never ends: it gets a response only if the bridge responds before it has read the body. */
function endless(url: string): { readonly sent: ClientRequest; readonly answer: Promise<IncomingMessage> } {
  const sent = request(url, { method: 'POST' });
  sent.on('error', () => {}); // the bridge closes the connection while the body is sent
  const answer = once(sent, 'response').then(([response]) => response as IncomingMessage);
  sent.write('x'.repeat(1024));
  return { sent, answer };
}

test('a request to an unknown address is rejected before its body is read, and its connection is closed', {
  timeout: 30_000,
}, async () => {
  const bridge = await openBridge({
    tools: [],
    before: () => Promise.reject(new Error('not called')),
    request: () => Promise.reject(new Error('not called')),
    call: () => Promise.reject(new Error('not called')),
  });
  try {
    const { origin } = new URL(bridge.url);
    // Also an address with the same length and end as ours.
    const guess = `${origin}/00000000-0000-4000-8000-000000000000`;
    for (const url of [`${origin}/mcp`, `${guess}/mcp`, `${guess}/before`, `${bridge.url}/other`]) {
      const { sent, answer } = endless(url);
      const response = await answer;
      expect(response.statusCode).toBe(404);
      response.resume();
      await (sent.destroyed || once(sent, 'close'));
    }
  } finally {
    await bridge.close();
  }
});

test('a body that is larger than any call is rejected while it is read', { timeout: 60_000 }, async () => {
  const bridge = await openBridge({
    tools: [tool],
    before: async () => {},
    request: async () => {},
    call: () => Promise.reject(new Error('not called')),
  });
  try {
    const { sent, answer } = endless(`${bridge.url}/mcp`);
    const isAnswered = answer.then(
      () => true,
      () => true,
    );
    const piece = Buffer.alloc(1024 * 1024, 'x');
    for (let mb = 0; mb < 400 && !sent.destroyed; mb++) {
      if (sent.write(piece)) continue;
      const drained = Promise.race([once(sent, 'drain'), once(sent, 'close')]).catch(() => true);
      if ((await Promise.race([drained, isAnswered])) === true) break;
    }
    // The connection is closed while the body is sent: its reset may overtake the response.
    const refused = await answer.then(
      ({ statusCode }) => statusCode,
      (error: NodeJS.ErrnoException) => error.code,
    );
    expect([413, 'ECONNRESET', 'EPIPE']).toContain(refused);
  } finally {
    await bridge.close();
  }
});
