/** `holdfast demo` in a terminal: Studio's server beside it, and a person who kills the agent. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { executionsIn } from '../../examples/demo/workspace.ts';
import type { AgentProcess } from '../../src/server.ts';
import { isDead } from '../../src/session/process-identity.ts';
import { RunningCommand } from '../cli/running-command.ts';

const dir = mkdtempSync(join(tmpdir(), 'holdfast-demo-studio-'));
const workspace = join(dir, 'killed', 'workspace');
const demo = new RunningCommand(['demo', '--port', '0', '--dir', dir], { isTerminal: true });
afterAll(async () => {
  await demo.stop();
  rmSync(dir, { recursive: true, force: true });
});

const WAIT = { timeout: 120_000, interval: 100 };
const HEADERS = { 'content-type': 'application/json', 'x-holdfast-request': '1' };

interface Details {
  readonly summary: { readonly status?: string; readonly work?: string };
  readonly lease?: { readonly holder: Parameters<typeof isDead>[0] };
  readonly processes: readonly AgentProcess[];
}
interface OpenCall {
  readonly name: string;
  readonly evaluationId: string;
  readonly turn: number;
  readonly callId: string;
}

async function read<T>(path: string): Promise<T> {
  const response = await fetch(new URL(`/sessions/expenses${path}`, await demo.address()));
  return (await response.json()) as T;
}

async function act(path: string, body?: object): Promise<Response> {
  const url = new URL(`/sessions/expenses${path}`, await demo.address());
  return fetch(url, { method: 'POST', headers: HEADERS, ...(body && { body: JSON.stringify(body) }) });
}

/** Waits for the process that runs now, other than these. */
async function running(...others: readonly number[]): Promise<number> {
  return vi.waitUntil(async () => {
    const last = (await read<Details>('')).processes.at(-1);
    return last?.status === 'running' && !others.includes(last.pid) && last.pid;
  }, WAIT);
}

async function openCalls(): Promise<readonly OpenCall[]> {
  return (await read<{ readonly calls: readonly OpenCall[] }>('/calls')).calls;
}

test('a killed agent is replaced by a process that resumes, and no call is executed twice', async () => {
  const address = await demo.address();
  expect(address.pathname).toBe('/studio/sessions/expenses');
  expect((await fetch(address)).status).toBe(200);
  expect(demo.stdout.indexOf('Studio http')).toBeLessThan(demo.stdout.indexOf('process '));

  console.log('the first job: the demo kills twice');
  await demo.printed(/SIGKILL inside send_mail/);
  await demo.printed(/SIGKILL in the middle of the final response/);
  await demo.printed(/6, each executed exactly once/);
  await demo.printed(/Now it is your turn/);
  const { processes } = await read<Details>('');
  expect(processes.slice(0, 3).map(({ status }) => status)).toEqual(['killed', 'killed', 'ended']);

  console.log('the second job: killed in parallel tools');
  await vi.waitUntil(async () => {
    const open = await openCalls();
    return open.some(({ name }) => name === 'search_trains') && !open.some(({ name }) => name === 'update_plan');
  }, WAIT);
  const first = await running();
  const killed = await act('/kill');
  expect(await killed.json()).toEqual({ pid: first });
  const second = await running(first);
  expect((await read<Details>('')).processes.find(({ pid }) => pid === first)?.status).toBe('killed');

  console.log('approved, then killed inside a tool whose outcome only a person knows');
  const booking = await vi.waitUntil(async () => (await openCalls()).find(({ name }) => name === 'book_hotel'), WAIT);
  const { evaluationId, turn, callId } = booking;
  await vi.waitUntil(async () => (await read<Details>('')).processes.at(-1)?.status === 'ended', WAIT);
  expect((await act('/kill')).status).toBe(409);
  await act('/calls/approve', { evaluationId, turn, callId });
  const isBooking = (): boolean => executionsIn(workspace).has(`expenses/${evaluationId}/${turn}/${callId}`);
  await vi.waitUntil(isBooking, WAIT);
  await act('/kill');
  await demo.printed(/its outcome is unknown: settle it in Studio/);
  await act('/calls/settle', { evaluationId, turn, callId, result: 'booked by phone' });
  await vi.waitUntil(async () => (await read<Details>('')).summary.status === 'completed', WAIT);

  const pids = (await read<Details>('')).processes.map(({ pid }) => pid);
  expect(new Set(pids).size).toBe(pids.length);
  expect(pids).toContain(second);
  expect(new Set(executionsIn(workspace).values())).toEqual(new Set([1]));
  const { messages } = await read<{ readonly messages: readonly object[] }>('/messages?continued=true');
  expect(JSON.stringify(messages.at(-1))).toContain('booked by phone');
  expect(readFileSync(join(workspace, 'itinerary.md'), 'utf8')).toContain('Casa do Rio');

  console.log('a message starts another process; Ctrl+C ends it and the command');
  await act('/inputs', { input: 'Hello?', id: 'hello' });
  await running(...pids);
  const { lease } = await vi.waitUntil(async () => {
    const details = await read<Details>('');
    return details.lease && details;
  }, WAIT);
  demo.kill('SIGINT');
  expect(await demo.ended).toEqual({ code: null, signal: 'SIGINT' });
  expect(demo.stderr).toBe('');
  expect(demo.stdout).toMatch(/To look at it again: .+ studio .+agent\.db/);
  expect(lease && isDead(lease.holder)).toBe(true); // the agent, too
});
