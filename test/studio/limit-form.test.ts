// @vitest-environment happy-dom
/** The form of an evaluation at a limit suggests the limit that was reached, by the data of its suspension and not by its sentence (D3). */
import { act, createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { beforeAll, expect, test, vi } from 'vitest';
import type { LimitItem } from '../../src/server/inbox-items.ts';
import { LimitForm } from '../../studio/src/inbox/resume-form.tsx';

const sent: { readonly path: string; readonly body: unknown }[] = [];
beforeAll(() => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    sent.push({ path: new URL(url).pathname, body: JSON.parse(String(init.body)) });
    return new Response('{}', { status: 202 });
  });
  return () => vi.unstubAllGlobals();
});

/** A suspension whose sentence is in another language: it may change, and decides nothing. */
const ITEM: LimitItem = {
  kind: 'limit',
  session: { id: 'ada', updatedAt: '2026-01-01T00:00:00.000Z', queued: 0 },
  evaluationId: 'e1',
  since: '2026-01-01T00:00:00.000Z',
  message: 'Das Limit an tokens oder dollars ist erreicht',
  reason: 'BUDGET_EXCEEDED',
  usage: { inputTokens: 300, outputTokens: 20 },
  turns: 4,
};

async function show(item: LimitItem) {
  const element = document.createElement('div');
  document.body.append(element);
  const attempt = {
    problem: undefined,
    isRunning: false,
    async run(action: () => Promise<unknown>) {
      await action();
      return true;
    },
    dismiss: () => {},
  };
  const root = createRoot(element);
  await act(async () => root.render(createElement(LimitForm, { item, attempt, onDone: () => {} })));
  const field = element.querySelector('input');
  return {
    limit: element.querySelector('select')?.value,
    label: field?.getAttribute('aria-label'),
    suggested: field?.value,
    async raise() {
      const button = [...element.querySelectorAll('button')].find((each) => each.textContent === 'Raise and continue');
      await act(async () => button?.click());
      return sent.at(-1);
    },
  };
}

test.for([
  ['maxTokens', 'Most tokens', '640', { used: 320, max: 300 }],
  ['maxInputTokens', 'Most input tokens', '600', { used: 300, max: 250 }],
  ['maxOutputTokens', 'Most output tokens', '40', { used: 20, max: 20 }],
  ['maxCostUsd', 'Most dollars', '0.46', { used: 0.23, max: 0.2 }],
] as const)(
  'after %s was reached, the form raises it to twice of what was used',
  async ([name, label, suggested, rest]) => {
    const form = await show({ ...ITEM, limit: { name, ...rest } });
    expect(form).toMatchObject({ limit: name, label, suggested });
    expect(await form.raise()).toEqual({
      path: '/sessions/ada/resume',
      body: { raise: { budget: { [name]: Number(suggested) } } },
    });
  },
);

test('of a budget over the session, it suggests more than the session has used', async () => {
  const form = await show({ ...ITEM, limit: { name: 'maxTokens', used: 9_000, max: 8_000 } });
  expect(form.suggested).toBe('18000');
});

test('a limit that cannot be measured is shown without a suggestion', async () => {
  const form = await show({ ...ITEM, limit: { name: 'maxCostUsd', max: 5 } });
  expect(form).toMatchObject({ limit: 'maxCostUsd', suggested: '' });
});

test.for<[what: string, more: Partial<LimitItem>, limit: string, suggested: string]>([
  ['raises the tokens', {}, 'maxTokens', '640'],
  ['raises the cost, if it is known', { usage: { ...ITEM.usage, costUsd: 0.5 } }, 'maxCostUsd', '1'],
  ['raises the limit that was raised before', { raised: { budget: { maxOutputTokens: 9 } } }, 'maxOutputTokens', '40'],
])('an item of a log from before limits were recorded %s', async ([, more, limit, suggested]) => {
  expect(await show({ ...ITEM, ...more })).toMatchObject({ limit, suggested });
});

test.for<[what: string, more: Partial<LimitItem>]>([
  ['with its limit', { limit: { name: 'maxTurns', max: 4, used: 4 } }],
  ['of an older log', {}],
])('an evaluation at its limit of turns, %s, gets twice of its turns', async ([, more]) => {
  const form = await show({ ...ITEM, reason: 'TURN_LIMIT', ...more });
  expect(form).toMatchObject({ label: 'Most turns', suggested: '8' });
  expect(await form.raise()).toEqual({ path: '/sessions/ada/resume', body: { raise: { maxTurns: 8 } } });
});
