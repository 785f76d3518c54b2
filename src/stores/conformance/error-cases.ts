import assert from 'node:assert/strict';
import { HoldfastError } from '../../core/errors.ts';
import type { SessionEvent } from '../../core/log/events.ts';
import type { ReadOptions, Store } from '../../ports/store.ts';
import { everyMethod } from './every-method.ts';
import { type Case, chunk, holder, leaseOn, note, readAll, refused } from './harness.ts';

/** Calls a method that must return although its arguments are wrong or the store is closed. */
function returning<T>(name: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    assert.fail(`${name} threw ${error}; it returns, and rejects later`);
  }
}

/** Calls that each have one wrong argument. */
function wrongCalls(store: Store): readonly (readonly [name: string, call: () => Promise<unknown>])[] {
  return [
    ['append', () => store.append('s', [], { id: 'a', expectedSeq: 0 })],
    ['append', () => store.append('s', [note(1n)], { id: 'a', expectedSeq: 0 })],
    ['head', () => store.head('')],
    ['acquireLease', () => store.acquireLease('s', { holder: holder('one'), ttlMs: 0 })],
    ['renewLease', () => store.renewLease('s', 1, -1)],
    ['releaseLease', () => store.releaseLease('', 1)],
    ['readLease', () => store.readLease('')],
    ['writeSnapshot', () => store.writeSnapshot('s', { seq: -1, data: '{}' })],
    ['readSnapshot', () => store.readSnapshot('')],
    ['appendDraft', () => store.appendDraft('s', [chunk(1, 0)], { fence: 1 })],
    ['readDraft', () => store.readDraft('s', { limit: -1 })],
    ['readContent', () => store.readContent('', 'sha256:x')],
    ['readCallContent', () => store.readCallContent('', 'call')],
    ['listSessions', () => store.listSessions({ limit: 0 })],
    ['deleteSession', () => store.deleteSession('')],
    ['forkSession', () => store.forkSession('s', '', { at: 1, events: [note(1)] })],
    ['replaceEvent', () => store.replaceEvent('s', { ...note(1), seq: 0 } as SessionEvent)],
  ];
}

const WRONG_READS: readonly (readonly [id: string, options: ReadOptions])[] = [
  ['', {}],
  ['s', { after: -1 }],
  ['s', { limit: 0.5 }],
];

export const errorCases: readonly Case[] = [
  {
    name: 'a method that returns a promise rejects and never throws, for wrong arguments and after close',
    async check({ store }) {
      for (const [name, call] of wrongCalls(store)) {
        const error = await returning(name, call).then(
          () => assert.fail(`${name} accepted a wrong argument`),
          (reason: unknown) => reason,
        );
        assert.ok(error instanceof HoldfastError, `${name}: ${error} is not a HoldfastError`);
      }
      await store.close();
      for (const [name, call] of wrongCalls(store)) await refused(returning(name, call), 'SESSION_CLOSED');
    },
  },
  {
    name: 'read returns at once, and rejects when its first event is read, for wrong arguments and after close',
    async check({ store }) {
      const readings = WRONG_READS.map(([id, options]) => returning('read', () => store.read(id, options)));
      for (const reading of readings) await refused(reading[Symbol.asyncIterator]().next(), 'INVALID_ARGUMENT');
      await store.close();
      const reading = returning('read', () => store.read('s'));
      await refused(reading[Symbol.asyncIterator]().next(), 'SESSION_CLOSED');
    },
  },
  {
    name: 'when the data cannot be reached, appends reject and every error is a HoldfastError',
    needs: ['makeUnreachable'],
    async check({ store, makeUnreachable }) {
      const { fence } = await leaseOn(store, 's');
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0, fence });
      assert.equal((await readAll(store, 's')).length, 1);
      await makeUnreachable?.();
      const appended = await store.append('s', [note(2)], { id: 'b', expectedSeq: 1 }).then(
        () => 'it resolved',
        (error: unknown) => error,
      );
      assert.ok(appended instanceof HoldfastError, `an append that cannot be stored: ${appended}`);
      assert.match(appended.code, /^STORE_/, 'the code says that the store failed, not the caller');
      // The store may still read from its memory: what counts is that no raw error reaches the caller.
      for (const call of everyMethod(store)) {
        const error = await call().then(
          () => undefined,
          (reason: unknown) => reason,
        );
        assert.ok(error === undefined || error instanceof HoldfastError, `${error} is not a HoldfastError`);
      }
    },
  },
];
