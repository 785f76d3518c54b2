import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { type Model, memoryStore, openSession, type TailItem } from '../../src/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { advancing } from './agent.ts';

test('D74: evaluations under one lease continue the numbers of their chunks, so that a reader misses none', async () => {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const session = await openSession({ store, id: 's', clock });
  const model: Model = {
    provider: 'test',
    modelId: 'slow',
    async *stream() {
      for (const delta of ['one ', 'two ', 'three ']) {
        yield { type: 'text-delta', blockId: 'b', delta };
        await new Promise<void>((resolve) => clock.after(500, resolve));
      }
      yield { type: 'finish', response: { content: [{ type: 'text', text: 'one two three ' }], toolCalls: [] } };
    },
  };
  const items: TailItem[] = [];
  const reading = (async () => {
    for await (const item of session.events({ live: true, drafts: true })) items.push(item);
  })();
  await session.send('first');
  await session.send('second');
  const prompt = definePrompt({ ns: 'test', key: 'p', instructions: 'Answer.' });
  const { responses } = await advancing(clock, createAdapter({ model }).run(prompt, { session }));
  expect(responses).toHaveLength(2);
  await setImmediate();
  await session.close();
  await reading;
  const pieces = items.flatMap(({ event }) => ('seq' in event || event.type !== 'message/delta' ? [] : [event]));
  const evaluations = [...new Set(pieces.map(({ evaluationId }) => evaluationId))];
  expect(evaluations).toHaveLength(2);
  for (const id of evaluations) {
    const text = pieces.filter(({ evaluationId }) => evaluationId === id).map(({ delta }) => delta);
    expect(text.join('')).toBe('one two three ');
  }
  const numbers = pieces.map(({ position }) => position?.n ?? 0);
  expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(new Set(pieces.map(({ position }) => position?.fence)).size).toBe(1);
});
