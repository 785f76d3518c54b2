import { expect, test } from 'vitest';
import { systemClock } from '../../src/stores/system-clock.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

test('a fake clock only moves when it is advanced', () => {
  const clock = fakeClock(1000);
  expect([clock.now(), clock.now()]).toEqual([1000, 1000]);
  clock.advance(5);
  expect(clock.now()).toBe(1005);
});

test('due timers run once each, ordered by time, then by creation, each at its own time', () => {
  const clock = fakeClock(0);
  const calls: string[] = [];
  const call = (name: string) => () => calls.push(`${name}@${clock.now()}`);
  clock.after(20, call('late'));
  clock.after(10, call('early'));
  clock.after(10, call('early too'));
  clock.after(10, () => clock.after(5, call('nested')));
  const cancel = clock.after(10, call('cancelled'));
  cancel();
  clock.advance(9);
  expect(calls).toEqual([]);
  clock.advance(100);
  expect(calls).toEqual(['early@10', 'early too@10', 'nested@15', 'late@20']);
  expect([clock.waiting, clock.now()]).toEqual([0, 109]);
});

test('the system clock calls a callback, unless it was cancelled', async () => {
  const calls: string[] = [];
  systemClock.after(0, () => calls.push('cancelled'))();
  await new Promise<void>((resolve) => systemClock.after(1, resolve));
  expect(calls).toEqual([]);
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(60_000);
});
