import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { untilAborted } from '../../src/models/until-aborted.ts';

test('all promises that wait under a signal reject when it aborts, with one listener for all', async () => {
  const { signal, abort } = controlled();
  const waiting = Array.from({ length: 20 }, () => untilAborted(new Promise(() => {}), signal));
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  abort('enough');
  const ended = await Promise.allSettled(waiting);
  expect(ended).toEqual(waiting.map(() => ({ status: 'rejected', reason: 'enough' })));
});

test('a settled promise keeps its value, whatever the signal does afterwards', async () => {
  const { signal, abort } = controlled();
  expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
  await expect(untilAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
  abort('late');
  expect(await untilAborted(Promise.resolve(2), undefined)).toBe(2);
});

test('under an aborted signal the promise rejects at once, and a later error is ignored', async () => {
  const { signal, abort } = controlled();
  abort('over');
  await expect(untilAborted(Promise.reject(new Error('unheard')), signal)).rejects.toBe('over');
});

function controlled(): { readonly signal: AbortSignal; readonly abort: (reason: unknown) => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason) => controller.abort(reason) };
}
