/** Saving a snapshot after each message is enough to resume, wherever the process is killed. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { defineTool, memoryStore, messages, openSession, scriptedModel } from '../../src/index.ts';

test.each([{ maxParallelCalls: 1 }, {}])(
  'a once tool that a saved snapshot shows as started does not run again: %o',
  async (options) => {
    const sent: string[] = [];
    let saved = '';
    let reachSecond = (): void => {};
    const secondReached = new Promise<void>((resolve) => {
      reachSecond = resolve;
    });
    const send = defineTool({
      name: 'send',
      description: 'Sends a letter',
      input: z.object({ to: z.string() }),
      effect: 'once',
      execute: async ({ to }) => {
        sent.push(to);
        if (to !== 'Bob' || sent.length > 2) return `sent to ${to}`;
        reachSecond();
        return new Promise<string>(() => {}); // the process is killed here
      },
    });
    const prompt = definePrompt({ ns: 'examples', key: 'letters', instructions: 'Send the letters.', tools: [send] });
    const model = scriptedModel([
      { toolCalls: ['Ann', 'Bob'].map((to) => ({ name: 'send', arguments: { to } })) },
      'Both are sent.',
    ]);
    const adapter = createAdapter({ model });

    const session = await openSession({ store: memoryStore(), id: 'letters' });
    session.observe(messages, (before, after) => {
      if (after.length > before.length) saved = JSON.stringify(session.snapshot());
    });
    const cancel = new AbortController();
    const dying = adapter.evaluate(prompt, { session, input: 'Go.', signal: cancel.signal, ...options });
    await secondReached;
    const checkpoint = saved;

    const restored = await openSession({ store: memoryStore(), id: 'letters' });
    await restored.restore(checkpoint);
    const response = await adapter.evaluate(prompt, { session: restored, resume: true });
    expect(response).toMatchObject({ status: 'suspended', reason: 'TOOL_OUTCOME_UNKNOWN' });
    expect(restored.pending()).toHaveLength(options.maxParallelCalls === 1 ? 1 : 2);
    expect(sent).toEqual(['Ann', 'Bob']);
    cancel.abort();
    await dying;
  },
);
