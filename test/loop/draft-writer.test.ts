import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { HoldfastError, memoryStore, openSession, type Store } from '../../src/index.ts';
import { type DraftSource, DraftWriter } from '../../src/loop/request/draft-writer.ts';
import type { DraftChunk } from '../../src/ports/store.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';

/** A source with a growing text. */
class Text implements DraftSource {
  readonly draftId: string;
  text = '';
  #taken = 0;

  constructor(draftId: string) {
    this.draftId = draftId;
  }

  take(): ReturnType<DraftSource['take']> {
    const { draftId } = this;
    const offset = this.#taken;
    const delta = this.text.slice(offset);
    this.#taken = this.text.length;
    return delta === ''
      ? []
      : [{ draftId, blockId: draftId, evaluationId: draftId, turn: 1, attempt: 1, delta, offset }];
  }
}

interface Setting {
  readonly clock: FakeClock;
  readonly writer: DraftWriter;
  readonly writes: { readonly chunks: readonly DraftChunk[]; readonly end: (error?: Error) => void }[];
  stored(): Promise<readonly string[]>;
  /** Advances the clock until drafts are due, and lets their writes start. */
  due(): Promise<void>;
}

/** A writer whose writes end when the test resolves them. */
async function writing(): Promise<Setting> {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const writes: Setting['writes'] = [];
  const slow: Store = {
    ...store,
    async appendDraft(id, chunks, options) {
      await new Promise<void>((resolve, reject) => {
        writes.push({ chunks, end: (error) => (error ? reject(error) : resolve()) });
      });
      await store.appendDraft(id, chunks, options);
    },
  };
  const session = await openSession({ store: slow, id: 's', clock });
  await session.append([{ type: 'note/added' }]);
  const holder = { id: 'h', host: 'here', pid: 1, startedAt: '0' };
  const { lease } = await store.acquireLease('s', { holder, ttlMs: 60_000 });
  let n = 0;
  return {
    clock,
    writes,
    writer: new DraftWriter(session, { fence: lease.fence, nextChunk: () => ++n, nextRun: () => 1 }),
    stored: async () => (await store.readDraft('s')).map(({ n: number, delta }) => `${number} ${delta}`),
    due: async () => {
      clock.advance(1000);
      await setImmediate();
    },
  };
}

const busy = (): Error => new HoldfastError('STORE_BUSY', 'try again');

describe('D74: the writer of drafts', () => {
  test('writes all due drafts in one write, numbered in order and with the seq that they follow', async () => {
    const { writer, writes, due, stored } = await writing();
    const [a, b] = [new Text('a'), new Text('b')];
    a.text = 'one';
    b.text = 'two';
    writer.ask(a);
    writer.ask(b);
    await due();
    expect(writes).toHaveLength(1);
    expect(writes[0]?.chunks.map(({ n, after, offset }) => [n, after, offset])).toEqual([
      [1, 1, 0],
      [2, 1, 0],
    ]);
    writes[0]?.end();
    await setImmediate();
    expect(await stored()).toEqual(['1 one', '2 two']);
  });

  test('starts no write before the previous one has ended, so that chunks become visible in order', async () => {
    const { writer, writes, due, stored } = await writing();
    const [a, b] = [new Text('a'), new Text('b')];
    a.text = 'one';
    writer.ask(a);
    await due();
    b.text = 'two';
    writer.ask(b);
    await due();
    expect(writes).toHaveLength(1);
    writes[0]?.end();
    await setImmediate();
    await due();
    expect(writes).toHaveLength(2);
    writes[1]?.end();
    await setImmediate();
    expect(await stored()).toEqual(['1 one', '2 two']);
  });

  test('retries a failed write with the same numbers before any new chunk', async () => {
    const { writer, writes, due, stored } = await writing();
    const a = new Text('a');
    a.text = 'one';
    writer.ask(a);
    await due();
    writes[0]?.end(busy());
    await setImmediate();
    a.text += 'two';
    writer.ask(a);
    await due();
    expect(writes[1]?.chunks).toEqual(writes[0]?.chunks);
    writes[1]?.end();
    await setImmediate();
    await due();
    writes[2]?.end();
    await setImmediate();
    expect(await stored()).toEqual(['1 one', '2 two']);
  });

  test('a draft that ends is not written again after a failure', async () => {
    const { writer, writes, due, stored } = await writing();
    const [a, b] = [new Text('a'), new Text('b')];
    a.text = 'one';
    b.text = 'two';
    writer.ask(a);
    writer.ask(b);
    await due();
    const ending = writer.forget(a);
    writes[0]?.end(busy());
    await ending;
    await due();
    expect(writes[1]?.chunks.map(({ draftId }) => draftId)).toEqual(['b']);
    writes[1]?.end();
    await setImmediate();
    expect(await stored()).toEqual(['2 two']);
  });

  test('a draft without written chunks ends at once', async () => {
    const { writer, clock, writes } = await writing();
    const a = new Text('a');
    a.text = 'one';
    writer.ask(a);
    expect(writer.forget(a)).toBeUndefined();
    clock.advance(1000);
    expect(writes).toEqual([]);
  });

  test('stops writing when the lease is lost', async () => {
    const { writer, writes, due } = await writing();
    const a = new Text('a');
    a.text = 'one';
    writer.ask(a);
    await due();
    writes[0]?.end(new HoldfastError('SESSION_CONFLICT', 'taken over', { detail: 'fence' }));
    await setImmediate();
    await due();
    expect(writes).toHaveLength(1);
  });

  test('after stop only explicitly requested drafts are written, and there is no timer', async () => {
    const { writer, writes, clock, stored } = await writing();
    const a = new Text('a');
    a.text = 'one';
    writer.ask(a);
    writer.stop();
    expect(clock.waiting).toBe(0);
    const written = writer.write([a]);
    await setImmediate();
    writes[0]?.end();
    await written;
    expect(await stored()).toEqual(['1 one']);
  });
});
