import { expect, test } from 'vitest';
import type { HistoryCurated } from '../../src/core/log/events.ts';
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import type { History } from '../../src/history/history-manager.ts';
import { agent, call, tool } from '../loop/agent.ts';
import { logIn } from '../session/log-of.ts';

async function warningsOf(work: () => Promise<void>): Promise<readonly Error[]> {
  const warnings: Error[] = [];
  const listen = (warning: Error): void => void (warning.name === 'HoldfastWarning' && warnings.push(warning));
  process.on('warning', listen);
  await work();
  await new Promise(setImmediate); // warnings are emitted after the current tick
  process.off('warning', listen);
  return warnings;
}

test.for<[string, History, RegExp]>([
  ['nothing', { name: 'silent', curate: () => undefined } as unknown as History, /silent.*returned no messages/],
  [
    'a promise',
    { name: 'late', curate: async (given: readonly ConversationMessage[]) => given } as unknown as History,
    /late.*not a promise/,
  ],
  [
    'messages of a provider’s format',
    { name: 'foreign', curate: () => [{ role: 'user', content: 'hello' }] } as unknown as History,
    /foreign.*not a recorded message/,
  ],
])(
  'a manager that returns %s is named in history/curated and in one process warning (D65)',
  async ([, history, text]) => {
    const one = await agent({
      script: ({ turn }) => (turn <= 3 ? { toolCalls: [call('read', {}, `r${turn}`)] } : 'done'),
      tools: [tool('read', () => 'x', { effect: 'read' })],
    });
    const warnings = await warningsOf(async () => {
      await one.evaluate({ history });
    });
    expect(warnings.map(({ message }) => message)).toEqual([expect.stringMatching(text)]);
    const curated = (await logIn(one.store, one.session.id)).filter(
      (event): event is HistoryCurated => event.type === 'history/curated',
    );
    expect(curated).toHaveLength(4);
    for (const { repairs } of curated) expect(repairs?.join()).toMatch(/manager-failed|invented/);
  },
);
