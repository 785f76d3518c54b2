import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  createConversationState,
  logConverter,
  messagesToEvents,
  reduceConversationEvents,
} from '../../../src/conversation.ts';
import { encodeProgress, MAX_PROGRESS_LENGTH } from '../../../src/core/progress.ts';
import {
  type AnySession,
  type DraftsReplaced,
  type MessageDelta,
  openSession,
  type Store,
  type TailItem,
} from '../../../src/index.ts';
import type { DraftChunk } from '../../../src/ports/store.ts';
import { memoryStore } from '../../../src/stores/memory.ts';
import { started } from '../../transcripts/own-log-builders.ts';
import { collect, rejection, until } from '../log-of.ts';
import { STORES, withChanges } from '../stores.ts';

/** Writes drafts like the holder of a lease. */
class Writer {
  readonly #store: Store;
  #fence = 0;
  #n = 0;
  readonly #lengths = new Map<string, number>();

  constructor(store: Store) {
    this.#store = store;
  }

  async begin(): Promise<this> {
    const holder = { id: `writer-${this.#fence}`, host: 'here', pid: 1, startedAt: '0' };
    if (this.#fence > 0) await this.#store.releaseLease('s', this.#fence);
    const { lease } = await this.#store.acquireLease('s', { holder, ttlMs: 60_000 });
    this.#fence = lease.fence;
    this.#n = 0;
    return this;
  }

  /** A piece of the response of evaluation `ev`. */
  text(delta: string, more: Partial<DraftChunk> = {}): Promise<void> {
    const blockId = more.blockId ?? 'ev:1:0';
    const offset = this.#lengths.get(blockId) ?? 0;
    this.#lengths.set(blockId, offset + delta.length);
    return this.#write({ draftId: 'ev', blockId, kind: 'text', delta, offset, ...more });
  }

  progress(text: string, offset: number, run = '1.1', more: Partial<DraftChunk> = {}): Promise<void> {
    const delta = encodeProgress({ run, offset, text });
    return this.#write({ draftId: 'ev/1/c1', blockId: 'ev/1/c1', kind: 'progress', toolName: 'run', delta, ...more });
  }

  async #write(chunk: Pick<DraftChunk, 'draftId' | 'blockId' | 'delta'> & Partial<DraftChunk>): Promise<void> {
    const { seq: after, incarnation } = await this.#store.head('s');
    const place = { evaluationId: 'ev', turn: 1, attempt: 1, fence: this.#fence, n: ++this.#n, after };
    await this.#store.appendDraft('s', [{ ...place, ...chunk }], { fence: this.#fence, incarnation });
  }
}

const message = (
  text: string,
  role: 'user' | 'assistant' = 'assistant',
): { readonly type: string } & Record<string, unknown> => ({
  type: 'message/recorded',
  message: {
    ...{
      id: `ev:${role === 'user' ? 0 : 1}`,
      evaluationId: 'ev',
      conversationId: 'main',
      turn: role === 'user' ? 0 : 1,
    },
    ...{ sequence: role === 'user' ? 0 : 1, promptNs: 'test', promptKey: 'p', createdAt: '2026-01-01T00:00:00.000Z' },
    ...{ role, content: [{ type: 'text', text }] },
  },
});

async function opened(store: Store): Promise<{ readonly session: AnySession; readonly writer: Writer }> {
  const session = await openSession({ store, id: 's' });
  const { at: _, ...begun } = { at: '', ...started() } as { readonly at: string; readonly type: string };
  await session.append([begun, message('Go', 'user')]);
  return { session, writer: await new Writer(store).begin() };
}

/** An item as a short text. */
function words({ cursor, event }: TailItem): string {
  if ('seq' in event) return `${cursor} ${event.type}`;
  if (event.type === 'message/delta') return `${cursor} ${event.delta}@${event.offset}`;
  if (event.type === 'tool/progress') return `${cursor} ${event.text.slice(0, 10)}@${event.offset}`;
  return `${cursor} ${event.type}`;
}

/** A tail that is read item by item. */
function following(session: AnySession, options: { readonly after?: string; readonly signal?: AbortSignal } = {}) {
  const iterator = session.events({ live: true, drafts: true, ...options })[Symbol.asyncIterator]();
  return {
    iterator,
    async next(count: number): Promise<readonly string[]> {
      const read: string[] = [];
      for (let i = 0; i < count; i++) {
        const { done, value } = await iterator.next();
        if (done) break;
        read.push(words(value));
      }
      return read;
    },
  };
}

describe.each(STORES)('D74, %s: a tail', (_, open) => {
  test('yields the log and the open drafts, and ends without live', async () => {
    const { session, writer } = await opened(await open());
    await writer.text('Hel');
    await writer.text('lo');
    await writer.text('Hm', { blockId: 'ev:1:1', kind: 'reasoning' });
    const items = await collect(session.events({ drafts: true }));
    expect(items.map(words)).toEqual([
      '1 evaluation/started',
      '2 message/recorded',
      '2.1.2 Hello@0', // adjacent chunks of a block are one piece
      '2.1.3 Hm@0',
    ]);
    expect(items[3]?.event).toMatchObject({ type: 'message/delta', kind: 'reasoning', evaluationId: 'ev', attempt: 1 });
  });

  test('continues after any of its cursors with exactly the following items', async () => {
    const { session, writer } = await opened(await open());
    await writer.text('a');
    await writer.text('b', { blockId: 'ev:1:1' });
    await session.append([{ type: 'note/added' }]);
    await writer.text('c', { blockId: 'ev:1:1' });
    await writer.text('d');
    const items = await collect(session.events({ drafts: true }));
    expect(items.map(words)).toEqual([
      '1 evaluation/started',
      '2 message/recorded',
      '2.1.1 a@0',
      '2.1.2 b@0',
      '3.1.2 note/added',
      '3.1.3 c@1',
      '3.1.4 d@1',
    ]);
    for (const [i, { cursor }] of items.entries()) {
      expect(await collect(session.events({ drafts: true, after: cursor })), cursor).toEqual(items.slice(i + 1));
    }
    expect(await collect(session.events({ drafts: true, after: '0' }))).toEqual(items);
  });

  test('live, yields events and pieces as they are written, and events get cursors without a draft position again', async () => {
    const { session, writer } = await opened(await open());
    const tail = following(session);
    expect(await tail.next(2)).toEqual(['1 evaluation/started', '2 message/recorded']);
    const piece = tail.next(1);
    await writer.text('Hel');
    expect(await piece).toEqual(['2.1.1 Hel@0']);
    const event = tail.next(1);
    await session.append([{ type: 'note/added' }]);
    expect(await event).toEqual(['3.1.1 note/added']);
    await session.append([message('Hello')], { endsDrafts: ['ev'] });
    await session.append([{ type: 'note/added' }]);
    const rest = await tail.next(2);
    expect(rest.map((line) => line.split(' ')[1])).toEqual(['message/recorded', 'note/added']);
    await session.append([{ type: 'note/added' }]);
    expect(await tail.next(1)).toEqual(['6 note/added']);
    await tail.iterator.return?.();
  });

  test('yields a reset and the recorded message when a draft was recorded while the reader was disconnected', async () => {
    const { session, writer } = await opened(await open());
    await writer.text('Hel');
    const before = await collect(session.events({ drafts: true }));
    await writer.text('lo');
    await session.append([message('Hello')], { endsDrafts: ['ev'] });
    const after = await collect(session.events({ drafts: true, after: before.at(-1)?.cursor }));
    expect(after.map(({ event }) => event)).toEqual([
      { type: 'draft/reset', evaluationId: 'ev', conversationId: 'main', turn: 1, before: 3 },
      expect.objectContaining({ type: 'message/recorded', seq: 3 }),
    ]);
    expect(shownAfter([...before, ...after])).toEqual(await reloaded(session.store));
  });

  test('resets a call if the store dropped some of its progress while the reader was disconnected (D62)', async () => {
    const { session, writer } = await opened(await open());
    const call = { ...message(''), type: 'message/recorded' } as { message: Record<string, unknown>; type: string };
    await session.append([
      {
        ...call,
        message: { ...call.message, content: [], toolCalls: [{ callId: 'c1', name: 'run', arguments: '{}' }] },
      },
    ]);
    await writer.progress('first', 0);
    const before = await collect(session.events({ drafts: true }));
    const part = MAX_PROGRESS_LENGTH / 2;
    await writer.progress('x'.repeat(part), 5);
    await writer.progress('y'.repeat(part), 5 + part);
    const after = await collect(session.events({ drafts: true, after: before.at(-1)?.cursor }));
    expect(after.map(words)).toEqual(['3.1.1 draft/reset', `3.1.3 yyyyyyyyyy@${5 + part}`]);
    expect(after[0]?.event).toMatchObject({ callId: 'c1', position: { fence: 1, n: 3 } });
    expect(shownAfter([...before, ...after])).toEqual(await reloaded(session.store));
    // Without a gap there is no reset.
    await writer.progress('z', 5 + 2 * part);
    const rest = await collect(session.events({ drafts: true, after: after.at(-1)?.cursor }));
    expect(rest.map(words)).toEqual([`3.1.4 z@${5 + 2 * part}`]);
  });

  test('a reader that missed too many pieces gets the current drafts in one item', async () => {
    const { session, writer } = await opened(await open());
    await writer.text('0,');
    const before = await collect(session.events({ drafts: true }));
    for (let i = 1; i <= 300; i++) await writer.text(`${i},`, i % 2 === 0 ? {} : { blockId: 'ev:1:1' });
    const after = await collect(session.events({ drafts: true, after: before.at(-1)?.cursor }));
    expect(after.map(words)).toEqual(['2.1.301 drafts/replaced']);
    const { pieces } = (after[0] as TailItem).event as DraftsReplaced & { readonly pieces: readonly MessageDelta[] };
    expect(pieces).toHaveLength(2);
    expect(pieces.every(({ offset }) => offset === 0)).toBe(true);
    expect(pieces[0]?.delta.startsWith('0,2,4,')).toBe(true);
    await writer.text('end');
    const rest = await collect(session.events({ drafts: true, after: after[0]?.cursor }));
    expect(rest.map(words)).toEqual([`2.1.302 end@${pieces[0]?.delta.length}`]);
    const all = [...before, ...after, ...rest];
    expect(shownAfter(all)).toEqual(await reloaded(session.store));
    expect(shownAfter([...all, ...after, ...rest])).toEqual(await reloaded(session.store)); // read again
  });

  test('a draft of an earlier version, without offsets, is yielded as a whole', async () => {
    const { session, writer } = await opened(await open());
    for (const delta of ['Hel', 'lo']) {
      await writer.text(delta, { offset: undefined, after: undefined } as unknown as Partial<DraftChunk>);
    }
    const items = await collect(session.events({ drafts: true }));
    expect(items.at(-1)?.event).toMatchObject({ type: 'drafts/replaced', pieces: [{ delta: 'Hello', offset: 0 }] });
    expect(shownAfter(items)).toEqual(await reloaded(session.store));
  });

  test('chunks of an older lease are yielded before those of a newer one', async () => {
    const { session, writer } = await opened(await open());
    await writer.text('old', { draftId: 'child', evaluationId: 'child', blockId: 'child:1:0', conversationId: 'c' });
    await writer.begin();
    await writer.text('new');
    const items = await collect(session.events({ drafts: true }));
    expect(items.slice(2).map(words)).toEqual(['2.1.1 old@0', '2.2.1 new@0']);
  });

  test('of a session that is deleted ends with SESSION_NOT_FOUND', async () => {
    const store = await open();
    const { session } = await opened(store);
    const tail = following(session);
    await tail.next(2);
    const next = rejection(tail.next(1));
    await store.deleteSession('s');
    expect(await next).toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });

  test('a cursor of another incarnation starts again with a reset', async () => {
    const store = await open();
    const { session: first } = await opened(store);
    const [, last] = await collect(first.events({ drafts: true }));
    await first.close();
    await store.deleteSession('s');
    const session = await openSession({ store, id: 's' });
    await session.append([{ type: 'note/added' }]);
    const items = await collect(session.events({ drafts: true, after: last?.cursor }));
    expect(items.map(words)).toEqual(['2:0 session/reset', '2:1 note/added']);
    expect(await collect(session.events({ drafts: true, after: '2:0' }))).toEqual(items.slice(1));
    expect(await collect(session.events({ drafts: true, after: '2:1' }))).toEqual([]);
    expect((await collect(session.events({ drafts: true, after: '3:1' }))).map(words)[0]).toBe('2:0 session/reset');
  });

  test('a cursor beyond the end of the log, as after restoring a backup, starts again with a reset', async () => {
    const { session } = await opened(await open());
    const items = await collect(session.events({ drafts: true, after: '99.4.7' }));
    expect(items.map(words)).toEqual(['0 session/reset', '1 evaluation/started', '2 message/recorded']);
  });

  test('yields a long log, and its open drafts after it', async () => {
    const { session, writer } = await opened(await open());
    await session.append(Array.from({ length: 400 }, () => ({ type: 'note/added' })));
    await writer.text('Hello');
    const items = await collect(session.events({ drafts: true }));
    expect(items.map(({ event }) => ('seq' in event ? event.seq : 'piece'))).toEqual([
      ...Array.from({ length: 402 }, (__, i) => i + 1),
      'piece',
    ]);
  });

  test('yields only the wanted types, and continues with their cursors', async () => {
    const { session, writer } = await opened(await open());
    await writer.text('Hello');
    const types = ['message/delta'];
    expect((await collect(session.events({ drafts: true, types }))).map(words)).toEqual(['2.1.1 Hello@0']);
    const events = await collect(session.events({ drafts: true, types: ['evaluation/started'] }));
    expect(events.map(words)).toEqual(['1 evaluation/started']);
    expect((await collect(session.events({ drafts: true, from: 2 }))).map(words)).toEqual([
      '2 message/recorded',
      '2.1.1 Hello@0',
    ]);
  });

  test('ends when the session is closed, after everything committed before', async () => {
    const { session } = await opened(await open());
    const reading = collect(session.events({ live: true, drafts: true }));
    await session.append([{ type: 'note/added' }]);
    await session.close();
    expect((await reading).map(words).at(-1)).toBe('3 note/added');
  });
});

describe('D74: the cost of a tail', () => {
  /** Counts reads and watchers. */
  function counted(store: Store) {
    const counts = { drafts: 0, chunks: 0, events: 0, watchers: 0, watched: 0 };
    const counting = withChanges(store, {
      watch(...args) {
        counts.watchers++;
        counts.watched++;
        const stop = store.watch(...args);
        return () => {
          counts.watchers--;
          stop();
        };
      },
      async readDraft(...args) {
        counts.drafts++;
        const chunks = await store.readDraft(...args);
        counts.chunks += chunks.length;
        return chunks;
      },
      async *read(...args) {
        for await (const event of store.read(...args)) {
          counts.events++;
          yield event;
        }
      },
    });
    return { counts, store: counting };
  }

  test('a piece costs the same regardless of the length of the log and the draft', async () => {
    const { store, counts } = counted(memoryStore());
    const { session, writer } = await opened(store);
    await session.append(Array.from({ length: 1000 }, () => ({ type: 'note/added' })));
    for (let i = 0; i < 200; i++) await writer.text('x');
    const tail = following(session);
    await tail.next(1003);
    await setImmediate();
    const before = { ...counts };
    const piece = tail.next(1);
    await writer.text('y');
    expect(await piece).toEqual(['1002.1.201 y@200']);
    expect(counts.chunks - before.chunks).toBe(1);
    expect(counts.events).toBe(before.events);
    await tail.iterator.return?.();
  });

  test('a hundred readers of one store share one watcher and the reads', async () => {
    const { store, counts } = counted(memoryStore());
    const { session, writer } = await opened(store);
    const sessions = await Promise.all(Array.from({ length: 100 }, () => openSession({ store, id: 's' })));
    const tails = sessions.map((each) => following(each));
    await Promise.all(tails.map((tail) => tail.next(2)));
    expect(counts.watched).toBe(1);
    await setImmediate();
    const before = counts.drafts;
    const pieces = tails.map((tail) => tail.next(1));
    await writer.text('Hello');
    expect(new Set((await Promise.all(pieces)).flat())).toEqual(new Set(['2.1.1 Hello@0']));
    expect(counts.drafts - before).toBeLessThan(10);
    await Promise.all(tails.map((tail) => tail.iterator.return?.()));
    expect(counts.watchers).toBe(0);
    await session.close();
  });

  test.for(['return', 'signal', 'break', 'error'])(
    'a tail that ends by %s leaves no watcher and no timer',
    async (how) => {
      const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
      const { store, counts } = counted(memoryStore());
      const { session } = await opened(store);
      const before = timers();
      const abort = new AbortController();
      const tail = following(session, { signal: abort.signal });
      await tail.next(2);
      const pending = tail.next(1);
      await until(() => timers() > before);
      expect(counts.watchers).toBe(1);
      if (how === 'return') await tail.iterator.return?.();
      if (how === 'signal') abort.abort();
      if (how === 'break') {
        await tail.iterator.return?.();
        for await (const _ of session.events({ live: true, drafts: true })) break;
      }
      if (how === 'error') await store.deleteSession('s');
      await pending.catch(() => {});
      expect(counts.watchers).toBe(0);
      expect(timers()).toBe(before);
    },
  );

  test('a tail that was never read has no watcher', async () => {
    const { store, counts } = counted(memoryStore());
    const { session } = await opened(store);
    const iterator = session.events({ live: true, drafts: true })[Symbol.asyncIterator]();
    await iterator.return?.();
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    expect(counts.watched).toBe(0);
  });
});

describe('bad input', () => {
  test.for([
    ['a malformed cursor', { drafts: true, after: '1.2' }],
    ['a cursor and a seq', { drafts: true, after: '1', from: 1 }],
    ['a cursor without drafts', { after: '1' }],
    ['a seq below 1', { drafts: true, from: 0 }],
  ] as const)('%s is INVALID_ARGUMENT', async ([, options]) => {
    const { session } = await opened(memoryStore());
    const reading = collect<unknown>(session.events(options as { drafts: true }));
    expect(await rejection(reading)).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('a closed session is SESSION_CLOSED', async () => {
    const { session } = await opened(memoryStore());
    await session.close();
    expect(await rejection(collect(session.events({ drafts: true })))).toMatchObject({ code: 'SESSION_CLOSED' });
  });
});

function shownAfter(items: readonly TailItem[]): unknown {
  const converter = logConverter();
  const events = items.flatMap((item) => converter.push(item));
  return JSON.parse(JSON.stringify(reduceConversationEvents(createConversationState(), events)));
}

async function reloaded(store: Store): Promise<unknown> {
  const log = await collect(store.read('s'));
  const events = messagesToEvents(log, { drafts: await store.readDraft('s') });
  return JSON.parse(JSON.stringify(reduceConversationEvents(createConversationState(), events)));
}
