/**
 * The outcome of a tool that ran must not become unknown because the store fails for a moment: recording the result is retried until
 * the store has it, the fence is stale, or the store is closed (I2, D18).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import {
  type ErrorCode,
  HoldfastError,
  isHoldfastError,
  memoryStore,
  type SessionEvent,
  type Store,
} from '../../src/index.ts';
import { type SqliteStoreOptions, sqliteStore } from '../../src/sqlite.ts';
import { agent, call, deferred, eventTypes, resultText, tool } from './agent.ts';

const SCRIPT = [{ toolCalls: [call('buy')] }, 'ok'];

/** A `once` tool. `beforeItReturns` is called when it has acted. */
function purchase(beforeItReturns: () => unknown = () => {}, receipt = 'bought') {
  const purchases: string[] = [];
  const buy = tool(
    'buy',
    async () => {
      purchases.push(receipt);
      await beforeItReturns();
      return receipt;
    },
    { effect: 'once' },
  );
  return { purchases, buy };
}

function temporaryDatabase(): string {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-results-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, 'store.db');
}

async function openStore(path: string, options?: SqliteStoreOptions) {
  const store = await sqliteStore(path, { backgroundIndexing: false, ...options });
  onTestFinished(() => store.close());
  return store;
}

/** The same store, with a record of the error codes of its appends. */
function traced(store: Store): { readonly store: Store; readonly refusals: ErrorCode[] } {
  const refusals: ErrorCode[] = [];
  const append: Store['append'] = async (...args) => {
    try {
      return await store.append(...args);
    } catch (error) {
      if (isHoldfastError(error)) refusals.push(error.code);
      throw error;
    }
  };
  return { store: { ...store, append }, refusals };
}

/** A store whose appends of a result fail while `trouble` returns an error, before or after they are made. */
function troubled(
  store: Store,
  trouble: () => HoldfastError | undefined,
  when: 'before' | 'after' = 'before',
): { readonly store: Store; readonly refused: Promise<void>; tries(): number } {
  const { promise: refused, resolve } = deferred();
  let tries = 0;
  const append: Store['append'] = async (sessionId, events, options) => {
    const isResult = events.some((event) => {
      const { message } = event as { readonly message?: { readonly role?: string } };
      return message?.role === 'tool';
    });
    if (!isResult) return store.append(sessionId, events, options);
    tries++;
    const error = trouble();
    if (!error || when === 'after') {
      const appended = await store.append(sessionId, events, options);
      if (!error) return appended;
    }
    if (tries > 2) resolve();
    throw error;
  };
  return { store: { ...store, append }, refused, tries: () => tries };
}

/** Starts a process that holds the write lock; resolves when it has it. */
async function holdLock(path: string, ms: number): Promise<void> {
  const program = join(import.meta.dirname, 'lock-holder.ts');
  const child = spawn(process.execPath, [program, path, String(ms)], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  await once(child.stdout, 'data');
}

test('a result is recorded even if another process holds the write lock longer than the busy timeout', async () => {
  const path = temporaryDatabase();
  const { store, refusals } = traced(await openStore(path, { busyTimeoutMs: 30 }));
  const { buy, purchases } = purchase(() => holdLock(path, 500));
  const { session, evaluate } = await agent({ script: SCRIPT, tools: [buy], store });
  expect(await evaluate()).toMatchObject({ status: 'completed', text: 'ok' });
  expect(refusals).toContain('STORE_BUSY');
  expect(resultText(session, 'call_1_1')).toBe('bought');
  expect(purchases).toEqual(['bought']);
});

test('a result is recorded when a full database has room again', async () => {
  const path = temporaryDatabase();
  const large = await openStore(path);
  const ballast = { type: 'note/added', at: '2026-01-01T00:00:00.000Z', text: 'x'.repeat(1_000_000) };
  await large.append('ballast', [ballast], { id: 'a', expectedSeq: 0 });
  await large.replaceEvent('ballast', { ...ballast, seq: 1 } as SessionEvent); // which moves all pages into the file
  const { store, refusals } = traced(await openStore(path, { maxBytes: statSync(path).size + 50 * 4096 }));
  let makeRoom: Promise<unknown> | undefined;
  const receipt = 'y'.repeat(500_000);
  const { buy, purchases } = purchase(() => {
    makeRoom = sleep(200).then(() => large.deleteSession('ballast'));
  }, receipt);
  const { session, evaluate } = await agent({ script: SCRIPT, tools: [buy], store, maxInlineLength: 1_000_000 });
  expect(await evaluate()).toMatchObject({ status: 'completed', text: 'ok' });
  await makeRoom;
  expect(refusals).toContain('STORE_FULL');
  expect(resultText(session, 'call_1_1')).toBe(receipt);
  expect(purchases).toHaveLength(1);
});

test.for<readonly [ErrorCode, 'before' | 'after']>([
  ['STORE_BUSY', 'before'],
  ['STORE_FULL', 'before'],
  ['STORE_FAILED', 'before'],
  ['STORE_FAILED', 'after'],
])('a result is recorded once when the store reports %s four times %s the commit', async ([code, when]) => {
  let left = 4;
  const trouble = () => (left-- > 0 ? new HoldfastError(code, 'for a moment') : undefined);
  const { store, tries } = troubled(await openStore(temporaryDatabase()), trouble, when);
  const { buy, purchases } = purchase();
  const { session, evaluate } = await agent({ script: SCRIPT, tools: [buy], store });
  expect(await evaluate()).toMatchObject({ status: 'completed', text: 'ok' });
  expect(tries()).toBe(5);
  expect(resultText(session, 'call_1_1')).toBe('bought');
  const types = await eventTypes(session);
  expect(types.filter((type) => type === 'message/recorded')).toHaveLength(5);
  expect(purchases).toHaveLength(1);
});

test('a result is recorded even if another writer was first and its events cannot be read for a moment', async () => {
  const inner = await openStore(temporaryDatabase());
  let unreadable = 0;
  const store: Store = {
    ...inner,
    read(...args) {
      if (unreadable-- > 0) throw new HoldfastError('STORE_BUSY', 'for a moment');
      return inner.read(...args);
    },
  };
  const { buy, purchases } = purchase(async () => {
    const { seq } = await inner.head('session');
    const event = { type: 'note/added', at: '2026-01-01T00:00:00.000Z', text: 'Another writer.' };
    unreadable = 5; // from the commit on: this process watches the session, too
    await inner.append('session', [event], { id: 'other', expectedSeq: seq });
  });
  const { session, evaluate } = await agent({ script: SCRIPT, tools: [buy], store });
  expect(await evaluate()).toMatchObject({ status: 'completed', text: 'ok' });
  expect(unreadable).toBeLessThan(0);
  expect(resultText(session, 'call_1_1')).toBe('bought');
  expect(purchases).toHaveLength(1);
});

/** An evaluation whose result the store rejects until `recover` is called; `refused` resolves after three rejections. */
async function refusedResult(inner: Store, options: { readonly leaseTtlMs?: number } = {}) {
  let isBroken = true;
  const trouble = () => (isBroken ? new HoldfastError('STORE_BUSY', 'for a while') : undefined);
  const { store, refused, tries } = troubled(inner, trouble);
  const { buy, purchases } = purchase();
  const recover = (): void => {
    isBroken = false;
  };
  onTestFinished(recover);
  return {
    ...(await agent({ script: SCRIPT, tools: [buy], store, adapter: options })),
    purchases,
    refused,
    tries,
    recover,
  };
}

test.for(['CANCELLED', 'DEADLINE_EXCEEDED'] as const)(
  'a result that is being retried is recorded although the evaluation is stopped with %s',
  async (reason) => {
    const { session, evaluate, purchases, refused, tries, recover } = await refusedResult(memoryStore());
    const cancel = new AbortController();
    const evaluation = evaluate(
      reason === 'CANCELLED' ? { signal: cancel.signal } : { deadline: session.clock.now() + 300 },
    );
    await Promise.race([refused, evaluation]);
    cancel.abort();
    await sleep(400);
    const triesBefore = tries();
    recover();
    expect(await evaluation).toMatchObject({ status: 'suspended', reason });
    expect(tries()).toBeGreaterThan(triesBefore);
    expect(resultText(session, 'call_1_1')).toBe('bought');
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'ok' });
    expect(purchases).toHaveLength(1);
  },
);

test('a result that is being retried is recorded after the lease has expired, if no other process took it', async () => {
  const inner = memoryStore();
  const cannotRenew: Store = {
    ...inner,
    keepLease: () => ({ remainingMs: () => 10_000, renew: async () => true, stop() {} }),
  };
  const { session, evaluate, purchases, refused, recover } = await refusedResult(cannotRenew, { leaseTtlMs: 50 });
  const evaluation = evaluate();
  await Promise.race([refused, evaluation]);
  await sleep(60);
  const lease = await inner.readLease('session');
  expect(lease === undefined || lease.expiresAt < Date.now()).toBe(true);
  recover();
  expect(await evaluation).toMatchObject({ status: 'completed', text: 'ok' });
  expect(resultText(session, 'call_1_1')).toBe('bought');
  expect(purchases).toHaveLength(1);
});

test('a result that is being retried is dropped when another process has taken the lease', async () => {
  const inner = memoryStore();
  const { session, evaluate, purchases, refused, tries, recover } = await refusedResult(inner);
  const evaluation = evaluate();
  await Promise.race([refused, evaluation]);
  const { fence = 0 } = (await inner.readLease('session')) ?? {};
  await inner.releaseLease('session', fence);
  const holder = { id: 'other', host: 'elsewhere', pid: 1, startedAt: '0' };
  await inner.acquireLease('session', { holder, ttlMs: 60_000 });
  recover();
  await expect(evaluation).rejects.toMatchObject({ code: 'SESSION_CONFLICT', detail: 'fence' });
  const triesBefore = tries();
  await sleep(100);
  expect(tries()).toBe(triesBefore);
  await session.refresh();
  expect(resultText(session, 'call_1_1')).toBeUndefined();
  expect(purchases).toHaveLength(1);
});

test('closing the store ends the retries of a result', async () => {
  const path = temporaryDatabase();
  const inner = await openStore(path, { busyTimeoutMs: 30 });
  const { store, refusals } = traced(inner);
  const { buy, purchases } = purchase(() => holdLock(path, 60_000));
  const { evaluate } = await agent({ script: SCRIPT, tools: [buy], store });
  const evaluation = evaluate();
  const outcome = expect(evaluation).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
  await expect
    .poll(() => refusals.filter((code) => code === 'STORE_BUSY').length, { timeout: 5000 })
    .toBeGreaterThan(2);
  await inner.close();
  await outcome;
  expect(refusals.filter((code) => code === 'SESSION_CLOSED')).toHaveLength(1);
  expect(purchases).toHaveLength(1);
});
