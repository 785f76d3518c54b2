import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import type { LeaseHolder } from '../../src/ports/store.ts';
import { isDead, startTime, startTimeByPs, thisProcess } from '../../src/session/process-identity.ts';

/** D76: a lease is taken over before it expires only if its holder is certainly dead. */

test('this process is alive, and one on another host may be', () => {
  expect(isDead(thisProcess())).toBe(false);
  expect(isDead({ ...thisProcess(), host: 'another-host', pid: 2 ** 22 + 1 })).toBe(false);
});

test('a process that ended is dead, even if its pid was reused, also by another user', async () => {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  const holder = { ...thisProcess(), startedAt: '1' };
  expect(isDead({ ...holder, pid: child.pid ?? 0 })).toBe(true);
  expect(isDead({ ...holder, pid: process.pid })).toBe(true);
  expect(isDead({ ...holder, pid: 1 })).toBe(true);
});

const free = { ...thisProcess(), pid: 2 ** 22 + 1 };
const { bootId: _boot, ...withoutBoot } = free;
const { pidNamespace: _namespace, ...withoutNamespace } = free;

test.each([
  ['in another boot', { ...free, bootId: 'another' }],
  ['in another pid namespace', { ...free, pidNamespace: 'pid:[1]' }],
  ['without a boot id', withoutBoot],
  ['without a pid namespace', withoutNamespace],
  ['without a start time', { ...free, startedAt: 'unknown' }],
])('a holder %s is not considered dead, even if its pid is free here', (_name, holder) => {
  expect(isDead(free)).toBe(true);
  expect(isDead(holder)).toBe(false);
});

const container = ['--pid', '--fork', '--kill-child'];
const mayUnshare = spawnSync('unshare', [...container, 'true']).status === 0;

test.runIf(mayUnshare).each([
  ['with a /proc of its own', ['--mount-proc']],
  ['that sees the /proc of its host', []],
])('two containers with one host name do not consider each other dead (%s)', async (_name, more) => {
  const module = join(import.meta.dirname, '../../src/session/process-identity.ts');
  const program = `
    const { isDead, thisProcess } = await import(${JSON.stringify(module)});
    const holder = ${JSON.stringify(thisProcess())};
    console.log(JSON.stringify({ holder: thisProcess(), isDead: isDead(holder) }));
    process.stdin.resume();`;
  const args = [...container, ...more, process.execPath, '--input-type=module', '-e', program];
  const child = spawn('unshare', args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const told = JSON.parse(line) as { readonly holder: LeaseHolder; readonly isDead: boolean };
  expect(told.holder.host).toBe(thisProcess().host);
  expect(told.isDead).toBe(false);
  expect(isDead(told.holder)).toBe(false);
  child.stdin.end();
  await once(child, 'exit');
});

test.runIf(spawnSync('ps').error === undefined)('a host without /proc gives the same result by ps', () => {
  const told = startTimeByPs(process.pid);
  expect(told).toMatch(/\d{4}$/);
  expect(startTimeByPs(process.pid)).toBe(told);
  expect(startTimeByPs(2 ** 22 + 1)).toBeUndefined();
  expect(startTime(2 ** 22 + 1)).toBeUndefined();
});
