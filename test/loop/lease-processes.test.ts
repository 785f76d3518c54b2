import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { EvaluationResponse } from '../../src/evaluate.ts';
import { isHoldfastError } from '../../src/index.ts';
import { type SqliteStore, sqliteStore } from '../../src/sqlite.ts';
import { type LeaseProcessOptions, leaseAgent } from './lease-process.ts';

/** D76 between real processes: the first one is `A`, this process is `B`. A file counts the effects of both. */

const TTL = 1500;

async function stage() {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-leases-'));
  const database = join(directory, 'store.db');
  const effects = join(directory, 'effects');
  const gate = join(directory, 'gate');
  const store: SqliteStore = await sqliteStore(database);
  onTestFinished(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });
  const options = { database, effects, leaseTtlMs: TTL };
  return {
    store,
    gate,
    start: (more: Partial<LeaseProcessOptions> = {}) => start({ ...options, name: 'A', ...more }),
    other: (more: Partial<LeaseProcessOptions> = {}) => leaseAgent({ ...options, name: 'B', ...more }, store),
    lines: (what: string) =>
      existsSync(effects)
        ? readFileSync(effects, 'utf8')
            .split('\n')
            .filter((line) => line.startsWith(what))
        : [],
    openGate: () => writeFileSync(gate, ''),
  };
}

/** Starts `A`. `says` resolves with the next line that it prints. */
function start(options: LeaseProcessOptions): { readonly child: ChildProcess; says(): Promise<unknown> } {
  const program = join(import.meta.dirname, 'lease-process.ts');
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, says: async () => (await lines.next()).value };
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(10);
}

/** Evaluates as soon as the session is not busy. */
async function whenFree(evaluate: () => Promise<EvaluationResponse<unknown>>): Promise<EvaluationResponse<unknown>> {
  for (;;) {
    try {
      return await evaluate();
    } catch (error) {
      if (!isHoldfastError(error, 'SESSION_BUSY')) throw error;
      await sleep(20);
    }
  }
}

describe('a process that is stopped beyond its lease and continued after another took over', {
  timeout: 60_000,
}, () => {
  test('does not run a call whose start it had recorded', async () => {
    const { start: run, other, lines } = await stage();
    const first = run({ stopAfter: { type: 'tool/started' } });
    expect(await first.says()).toBe('stopping');
    const second = other();
    expect(await whenFree(second.evaluate)).toMatchObject({ status: 'completed', text: 'paid' });
    first.child.kill('SIGCONT');
    expect(await first.says()).toBe('SESSION_CONFLICT fence');
    expect(lines('pay')).toEqual(['pay B']);
  });

  test('does not run a once call that a person had permitted to run again', async () => {
    const { start: run, other, lines } = await stage();
    const first = run({ stopAfter: { type: 'tool/started' }, effect: 'once' });
    expect(await first.says()).toBe('stopping');
    const second = other({ effect: 'once' });
    const { status, reason, pending } = await whenFree(second.evaluate);
    expect({ status, reason }).toEqual({ status: 'suspended', reason: 'TOOL_OUTCOME_UNKNOWN' });
    for (const call of pending) await (await second.open()).settle(call, { rerun: true });
    expect(await second.evaluate()).toMatchObject({ status: 'completed' });
    first.child.kill('SIGCONT');
    expect(await first.says()).toBe('SESSION_CONFLICT fence');
    expect(lines('pay')).toEqual(['pay B']);
  });

  test('sends no request to the model', async () => {
    const { start: run, other, lines } = await stage();
    const first = run({ stopAfter: { type: 'message/recorded', role: 'tool' } });
    expect(await first.says()).toBe('stopping');
    expect(await whenFree(other().evaluate)).toMatchObject({ status: 'completed' });
    first.child.kill('SIGCONT');
    expect(await first.says()).toBe('SESSION_CONFLICT fence');
    expect(lines('asked 2')).toEqual(['asked 2 B']);
  });

  test('continues when no other process took over: it renews its lease first', async () => {
    const { start: run, store, lines } = await stage();
    const first = run({ stopAfter: { type: 'tool/started' } });
    expect(await first.says()).toBe('stopping');
    await until(async () => ((await store.readLease('session'))?.expiresAt ?? 0) <= Date.now());
    first.child.kill('SIGCONT');
    expect(await first.says()).toBe('completed');
    expect(lines('pay')).toEqual(['pay A']);
  });
});

describe('a process whose tool blocks the event loop', { timeout: 60_000 }, () => {
  test('keeps its session beyond the ttl of its lease: another process gets SESSION_BUSY', async () => {
    const { start: run, other, store, lines, gate, openGate } = await stage();
    const first = run({ blockUntil: gate });
    await until(() => lines('pay').length > 0);
    const startedUnder = await store.readLease('session');
    await until(async () => {
      const lease = await store.readLease('session');
      const isRenewedThrice = (lease?.renewals ?? 0) > (startedUnder?.renewals ?? 0) + 3;
      return isRenewedThrice || (lease?.expiresAt ?? 0) <= Date.now();
    });
    await expect(other().evaluate()).rejects.toMatchObject({ code: 'SESSION_BUSY' });
    openGate();
    expect(await first.says()).toBe('completed');
    expect(lines('pay')).toEqual(['pay A']);
  });

  test('loses its session when it is blocked longer than maxBlockedMs', async () => {
    const { start: run, other, lines, gate, openGate } = await stage();
    const first = run({ blockUntil: gate, maxBlockedMs: 300 });
    await until(() => lines('pay').length > 0);
    expect(await other().evaluate({ wait: true })).toMatchObject({ status: 'completed' });
    openGate();
    expect(await first.says()).toBe('SESSION_CONFLICT fence');
    await once(first.child, 'exit');
  });
});

test('evaluate with wait runs when the process that held the session has ended', { timeout: 60_000 }, async () => {
  const { start: run, other, lines, gate, openGate } = await stage();
  const first = run({ blockUntil: gate });
  await until(() => lines('pay').length > 0);
  await expect(other().evaluate({ wait: 200 })).rejects.toMatchObject({ code: 'SESSION_BUSY' });
  const waiting = other().evaluate({ wait: true });
  openGate();
  expect(await waiting).toMatchObject({ status: 'completed', text: 'paid' });
  expect(await first.says()).toBe('completed');
  expect(lines('pay')).toEqual(['pay A']);
});
