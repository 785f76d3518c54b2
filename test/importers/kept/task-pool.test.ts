import { expect, test } from 'vitest';
import { TaskPool } from '../../../src/importers/kept/task-pool.ts';

/** A task that a test ends. */
function manual(): {
  readonly run: () => Promise<void>;
  readonly end: () => void;
  readonly fail: (error: Error) => void;
} {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  return { run: () => promise, end: resolve, fail: reject };
}

/** Whether a promise is settled by the end of this turn of the event loop. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const later = new Promise<boolean>((resolve) => setImmediate(() => resolve(false)));
  return await Promise.race([promise.then(() => true), later]);
}

test.for([
  { what: 'as many tasks as there may be', limits: { tasks: 2, weight: 100 }, weights: [1, 1, 1] },
  { what: 'tasks that weigh as much as they may', limits: { tasks: 9, weight: 10 }, weights: [5, 5, 1] },
  { what: 'a task that weighs more than all may', limits: { tasks: 9, weight: 10 }, weights: [50, 1] },
])('a task waits while $what run', async ({ limits, weights }) => {
  const pool = new TaskPool(limits);
  const first = manual();
  const [weight = 0, ...others] = weights;
  const last = others.pop() ?? 0;
  await pool.start(weight, first.run);
  const rest = others.map(() => manual());
  for (const [i, task] of rest.entries()) await pool.start(others[i] ?? 0, task.run);
  const waiting = pool.start(last, async () => {});
  expect(await isSettled(waiting)).toBe(false);
  first.end();
  expect(await isSettled(waiting)).toBe(true);
  for (const task of rest) task.end();
  await pool.drain();
});

test('a task that weighs more than all may runs alone', async () => {
  const pool = new TaskPool({ tasks: 9, weight: 10 });
  const light = manual();
  await pool.start(1, light.run);
  const heavy = pool.start(50, async () => {});
  expect(await isSettled(heavy)).toBe(false);
  light.end();
  await heavy;
  await pool.drain();
});

test('the error of a task is thrown by the next start and by drain, after the other tasks have ended', async () => {
  const pool = new TaskPool({ tasks: 2, weight: 10 });
  const [failing, other] = [manual(), manual()];
  await pool.start(1, failing.run);
  await pool.start(1, other.run);
  const next = pool.start(1, async () => {});
  failing.fail(new Error('broken'));
  await expect(next).rejects.toThrow('broken');
  const draining = pool.drain();
  expect(await isSettled(draining.catch(() => {}))).toBe(false);
  other.end();
  await expect(draining).rejects.toThrow('broken');
});
