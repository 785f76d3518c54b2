import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { untilAborted } from '../../src/models/until-aborted.ts';

test('everyone who waits under a signal hears of its end, and one listener is enough for all', async () => {
  const { signal, abort } = controlled();
  const waiting = Array.from({ length: 20 }, () => untilAborted(new Promise(() => {}), signal));
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  abort('enough');
  const ended = await Promise.allSettled(waiting);
  expect(ended).toEqual(waiting.map(() => ({ status: 'rejected', reason: 'enough' })));
});

test('who has an answer keeps it, whatever the signal does afterwards', async () => {
  const { signal, abort } = controlled();
  expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
  await expect(untilAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
  abort('late');
  expect(await untilAborted(Promise.resolve(2), undefined)).toBe(2);
});

test('under a signal that has aborted nobody waits, and a promise that fails then is nobody’s business', async () => {
  const { signal, abort } = controlled();
  abort('over');
  await expect(untilAborted(Promise.reject(new Error('unheard')), signal)).rejects.toBe('over');
});

function controlled(): { readonly signal: AbortSignal; readonly abort: (reason: unknown) => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason) => controller.abort(reason) };
}
