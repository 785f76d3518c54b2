/** The agents' own processes: listed with their session, and killed by a route that only servers with `processes` have. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import type { AgentProcess, AgentProcesses } from '../../src/server.ts';
import { codeOf, serve } from './support.ts';

let child: ChildProcess | undefined;
afterEach(() => child?.kill('SIGKILL'));

/** One process that waits for ever, as the agent of session a. */
function waitingAgent(): AgentProcesses & { readonly child: ChildProcess } {
  const waiting = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  child = waiting;
  const startedAt = new Date().toISOString();
  const isRunning = (): boolean => waiting.signalCode === null && !waiting.killed;
  const about = (): AgentProcess => ({
    pid: waiting.pid ?? 0,
    startedAt,
    status: isRunning() ? 'running' : 'killed',
  });
  return {
    child: waiting,
    list: (id) => (id === 'a' ? [about()] : []),
    kill: (id) => (id === 'a' && isRunning() && waiting.kill('SIGKILL') ? waiting.pid : undefined),
  };
}

test('POST /sessions/:id/kill kills the process that runs the session, and is 409 when none does', async () => {
  const processes = waitingAgent();
  const served = await serve({ processes });
  for (const id of ['a', 'b']) await served.send('PATCH', `/sessions/${id}`, { title: id });
  const { pid } = processes.child;
  expect(await served.json('/sessions/a')).toMatchObject({ processes: [{ pid, status: 'running' }] });
  expect(await served.json('/sessions/b')).toMatchObject({ processes: [] });
  expect(await codeOf(await served.send('POST', '/sessions/b/kill'))).toBe('409 NOT_RUNNING');

  const ended = once(processes.child, 'exit');
  const killed = await served.send('POST', '/sessions/a/kill');
  expect(killed.status).toBe(200);
  expect(await killed.json()).toEqual({ pid });
  expect(await ended).toEqual([null, 'SIGKILL']);
  expect(await served.json('/sessions/a')).toMatchObject({ processes: [{ pid, status: 'killed' }] });
  expect(await codeOf(await served.send('POST', '/sessions/a/kill'))).toBe('409 NOT_RUNNING');
});

test('a server without processes has neither the route nor the list', async () => {
  const served = await serve();
  await served.send('PATCH', '/sessions/a', { title: 'a' });
  expect(await served.json('/sessions/a')).not.toHaveProperty('processes');
  expect(await codeOf(await served.send('POST', '/sessions/a/kill'))).toBe('404 ROUTE_NOT_FOUND');
  expect(JSON.stringify(await served.json('/openapi.json'))).not.toContain('/kill');
});

test('a page of another site cannot kill', async () => {
  const processes = waitingAgent();
  const served = await serve({ processes });
  await served.send('PATCH', '/sessions/a', { title: 'a' });
  const withoutHeader = await fetch(`${served.url}/sessions/a/kill`, { method: 'POST' });
  expect(await codeOf(withoutHeader)).toBe('403 HEADER_MISSING');
  expect(processes.child.killed).toBe(false);
});
