import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { isDead, startTime, startTimeByPs, thisProcess } from '../../src/session/process-identity.ts';

/** D51: a lease outlives its holder only if that is certainly dead. */

test('this process is alive, and so is one on another host', () => {
  expect(isDead(thisProcess())).toBe(false);
  expect(isDead({ ...thisProcess(), host: 'another-host', pid: 2 ** 22 + 1 })).toBe(false);
});

test('a process that ended is dead, also if another has its number now, be it another user’s', async () => {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  const holder = { id: 'x', host: hostname(), startedAt: '1' };
  expect(isDead({ ...holder, pid: child.pid ?? 0 })).toBe(true);
  expect(isDead({ ...holder, pid: process.pid })).toBe(true);
  expect(isDead({ ...holder, pid: 1 })).toBe(true);
});

test('if it is not known when a process started, its number must be free', () => {
  expect(isDead({ ...thisProcess(), startedAt: 'unknown' })).toBe(false);
});

test.runIf(spawnSync('ps').error === undefined)('a host without /proc tells the same, in its own words', () => {
  const told = startTimeByPs(process.pid);
  expect(told).toMatch(/\d{4}$/);
  expect(startTimeByPs(process.pid)).toBe(told);
  expect(startTimeByPs(2 ** 22 + 1)).toBeUndefined();
  expect(startTime(2 ** 22 + 1)).toBeUndefined();
});
