/** `GET /totals`: what the sessions of a list have cost. */
import { expect, test } from 'vitest';
import type { Agents } from '../../src/index.ts';
import { createAgent, scriptedModel } from '../../src/index.ts';
import { chat, codeOf, type Served, serve, until } from './support.ts';

const agents: Agents = () =>
  createAgent({
    model: scriptedModel(() => 'Four words, no more.', { modelId: 'priced' }),
    prices: { priced: { input: 3, output: 15 } },
    prompt: chat,
  });

interface Totals {
  readonly totals: Readonly<Record<string, { readonly turns: number; readonly usage: { readonly costUsd: number } }>>;
}

async function totalsOf(served: Served, ...ids: readonly string[]): Promise<Totals['totals']> {
  const query = ids.map((id) => `session=${encodeURIComponent(id)}`).join('&');
  return ((await served.json(`/totals?${query}`)) as unknown as Totals).totals;
}

test('it has turns, tokens and money of every session that exists, and grows with the session', async () => {
  const served = await serve({ agents });
  const send = async (id: string, input: string): Promise<void> => {
    await served.send('POST', `/sessions/${id}/inputs`, { input });
    await until(async () => {
      const { summary } = (await served.json(`/sessions/${id}`)) as { summary: { status?: string; work?: string } };
      return summary.status === 'completed' && summary.work === undefined;
    });
  };
  await send('ada', 'Hello');
  await send('bob', 'Hello');
  const first = await totalsOf(served, 'ada', 'bob', 'nobody', 'ada');
  expect(Object.keys(first).sort()).toEqual(['ada', 'bob']);
  expect(first.ada?.turns).toBe(1);
  expect(first.ada?.usage).toMatchObject({ inputTokens: expect.any(Number), outputTokens: expect.any(Number) });
  expect(first.ada?.usage.costUsd).toBeGreaterThan(0);
  await send('ada', 'Hello again');
  const second = await totalsOf(served, 'ada', 'bob');
  expect(second.ada?.turns).toBe(2);
  expect(second.ada?.usage.costUsd).toBeGreaterThan(first.ada?.usage.costUsd ?? 0);
  expect(second.bob).toEqual(first.bob);
});

test('a session that was deleted and begun again starts at zero', async () => {
  const served = await serve({ agents });
  const begin = async (): Promise<void> => {
    await served.send('POST', '/sessions/ada/inputs', { input: 'Hello' });
    await until(async () => (await totalsOf(served, 'ada')).ada?.turns === 1);
  };
  await begin();
  await served.send('DELETE', '/sessions/ada');
  expect(await totalsOf(served, 'ada')).toEqual({});
  await begin();
});

test('without a session, and with an id that no session can have, it is refused', async () => {
  const served = await serve({ agents });
  for (const path of ['/totals', '/totals?session=']) {
    const response = await served.send('GET', path);
    expect(await codeOf(response)).toBe('400 INVALID_ARGUMENT');
  }
});
