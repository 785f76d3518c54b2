import { describe, expect, test } from 'vitest';
import { type AnySlice, defineSlice } from '../../src/core/fold/slices.ts';
import type { Snapshot } from '../../src/core/fold/snapshot.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { started, user } from '../core/log.ts';
import { logIn, rejection } from './log-of.ts';
import { STORES, withChanges } from './stores.ts';

const adds = (name: string) =>
  defineSlice({
    name,
    initial: [] as string[],
    on: { 'plan/added': (items, event: { step: string }) => [...items, event.step] },
  });
const plan = adds('plan');
const notes = adds('notes');
const LARGE = 'x'.repeat(50);

const open = (store = memoryStore(), id = 's1', slices: readonly AnySlice[] = [plan]) =>
  openSession({ store, id, slices, maxInlineLength: 10 });
const add = (step: string) => ({ type: 'plan/added', step });

describe.for(STORES)('D63, D91: external contents, on %s', ([, create]) => {
  test('are named by a snapshot without them, included on request, and restored into another store', async () => {
    const origin = await open(await create());
    await origin.append([user(LARGE, 0), user('short', 1)]);
    const plainSnapshot = origin.snapshot({ contents: false });
    const [name] = plainSnapshot.missingContents ?? [];
    expect(plainSnapshot.missingContents).toHaveLength(1);
    expect(plainSnapshot.contents).toBeUndefined();
    const whole = await origin.snapshot({ contents: true });
    expect(whole.contents).toEqual({ [name ?? '']: LARGE });
    expect(whole.missingContents).toBeUndefined();

    const store = await create();
    const copy = await open(store, 's2');
    const error = await rejection(copy.restore(JSON.stringify(plainSnapshot)));
    expect(error).toMatchObject({ code: 'SNAPSHOT_INVALID', message: expect.stringContaining('contents: true') });
    expect(await logIn(store, 's2')).toEqual([]);
    await copy.restore(JSON.stringify(whole));
    const again = await open(store, 's2');
    expect((await again.resolve(again.messages()))[0]?.content).toEqual([{ type: 'text', text: LARGE }]);
    expect(await store.check()).toMatchObject({ ok: true });
  });

  test('that the handle has written are in its snapshot, which restores them into another store', async () => {
    const origin = await open(await create());
    await origin.append([user(LARGE, 0)]);
    const copy = await open(await create(), 's2');
    await copy.restore(JSON.stringify(origin.snapshot()));
    expect((await copy.resolve(copy.messages()))[0]?.content).toEqual([{ type: 'text', text: LARGE }]);
    expect(copy.snapshot().contents).toEqual(origin.snapshot().contents);
  });

  test('that another handle has written are not held: a snapshot fails when it is taken, and says how to take it', async () => {
    const store = await create();
    await (await open(store)).append([user(LARGE, 0)]);
    const reader = await open(store);
    expect(() => reader.snapshot()).toThrow(
      expect.objectContaining({ code: 'SNAPSHOT_INVALID', message: expect.stringContaining('contents: true') }),
    );
    expect((await reader.snapshot({ contents: true })).missingContents).toBeUndefined();
    await reader.compact();
  });

  test('are held up to a limit, the newest of them', async () => {
    const session = await open(await create());
    const texts = ['a', 'b', 'c'].map((letter) => letter.repeat(4 * 1024 * 1024));
    for (const [i, text] of texts.entries()) await session.append([user(text, i)]);
    expect(() => session.snapshot()).toThrow(
      expect.objectContaining({ code: 'SNAPSHOT_INVALID', data: [expect.any(String)] }),
    );
  });

  test('of an erased message are not in a snapshot', async () => {
    const session = await open(await create());
    await session.append([user(LARGE, 0)]);
    await session.eraseMessage(session.messages()[0]?.id ?? '');
    expect(JSON.stringify(session.snapshot())).not.toContain(LARGE);
  });

  test('of messages that are appended or erased while a snapshot reads them are those of the messages that it has', async () => {
    const store = await create();
    const writer = await open(store);
    await writer.append([user(LARGE, 0)]);
    let isFirst = true;
    const raced = withChanges(store, {
      readContent: async (id, name, options) => {
        if (isFirst) {
          isFirst = false;
          await reader.append([user(`${LARGE}y`, 1)]);
          await writer.eraseMessage(writer.messages()[0]?.id ?? '');
        }
        return store.readContent(id, name, options);
      },
    });
    const reader = await open(raced);
    const { contents, missingContents } = await reader.snapshot({ contents: true });
    expect([Object.values(contents ?? {}), missingContents]).toEqual([[`${LARGE}y`], undefined]);
  });

  test('that the store lost fail a snapshot when it is taken, and are named; an altered one is rejected', async () => {
    const store = await create();
    const session = await open(store);
    await session.append([user(LARGE, 0), user(`${LARGE}y`, 1)]);
    const [first = ''] = session.snapshot({ contents: false }).missingContents ?? [];
    const lossy = withChanges(store, {
      readContent: async (id, name) => (name === first ? undefined : store.readContent(id, name)),
    });
    expect(await rejection((await open(lossy)).snapshot({ contents: true }))).toMatchObject({
      code: 'SNAPSHOT_INVALID',
      message: expect.stringContaining('contents: false'),
      data: [first],
    });
    const { checksum: _, ...whole } = await session.snapshot({ contents: true });
    const altered = { ...whole, contents: { ...whole.contents, [first]: 'something else' } };
    const copy = await open(memoryStore(), 's2');
    expect(await rejection(copy.restore(altered))).toMatchObject({ code: 'SNAPSHOT_INVALID' });
    expect(copy.seq).toBe(0);
  });
});

describe('D63: slices that this process does not define', () => {
  test('stay in the snapshot of a session that they were restored into', async () => {
    const origin = await open(memoryStore(), 's1', [plan, notes]);
    await origin.append([add('a')]);
    const store = memoryStore();
    const unknowing = await open(store, 's2', []);
    await unknowing.restore(origin.snapshot());
    await unknowing.append([{ type: 'other/thing' }]);
    for (const session of [unknowing, await open(store, 's2', [])]) {
      const copy = await open(memoryStore(), 's3', [plan, notes]);
      await copy.restore(JSON.stringify(session.snapshot()));
      expect([copy.select(plan).all(), copy.select(notes).all()]).toEqual([['a'], ['a']]);
    }
  });

  test('and that another process stored after this one had opened are not lost', async () => {
    const store = memoryStore();
    const knowing = await open(store, 's1', [plan, notes]);
    const unknowing = await open(store, 's1', [plan]);
    await knowing.append([add('a')]);
    await knowing.compact();
    await unknowing.refresh();
    expect((await unknowing.snapshot({ contents: true })).slices.notes).toMatchObject({ seq: 1, items: ['a'] });
    await unknowing.compact();
    const stored = JSON.parse((await store.readSnapshot('s1'))?.data ?? '{}') as Snapshot;
    expect(stored.slices.notes).toMatchObject({ items: ['a'] });
  });
});

describe('D63: restoring the snapshot of another session', () => {
  test('into a session that has events is rejected with advice, and changes nothing', async () => {
    const store = memoryStore();
    const [one, two] = [await open(store, 's1'), await open(store, 's2')];
    await one.append([add('a')]);
    await two.append([add('b')]);
    const error = await rejection(two.restore(one.snapshot()));
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringMatching(/s1.*s2.*new session/) });
    expect(await logIn(store, 's2')).toHaveLength(1);
    expect(two.select(plan).all()).toEqual(['b']);
  });

  test.for<readonly [string, number]>([
    ['longer', 1],
    ['shorter', 3],
  ])('that has the same id elsewhere, and is %s, is rejected, too', async ([, events]) => {
    let now = 0;
    const clock = { now: () => ++now * 1000, after: () => () => {} };
    const origin = await openSession({ store: memoryStore(), id: 's1', slices: [plan], clock });
    await origin.append([add('a'), add('b')]);
    const other = await openSession({ store: memoryStore(), id: 's1', slices: [plan], clock });
    for (let i = 0; i < events; i++) await other.append([add(String(i))]);
    expect(await rejection(other.restore(origin.snapshot()))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(other.select(plan).all()).toHaveLength(events);
  });
});

describe('a snapshot that was altered but is valid JSON', () => {
  const alter = (text: string): string => text.replace('hunter', 'gather');

  test('is rejected by restore, as text and as a value', async () => {
    const origin = await open();
    await origin.append([started(), user('hunter2', 0)]);
    const text = JSON.stringify(origin.snapshot());
    for (const altered of [alter(text), JSON.parse(alter(text)) as Snapshot]) {
      const copy = await open(memoryStore(), 's2');
      const error = await rejection(copy.restore(altered));
      expect(error).toMatchObject({ code: 'SNAPSHOT_INVALID', message: expect.stringContaining('altered') });
      expect(copy.seq).toBe(0);
    }
    const value = await open(memoryStore(), 's2');
    await value.restore(JSON.parse(text) as Snapshot);
    const trusted = await open(memoryStore(), 's3');
    const { checksum: _, ...without } = JSON.parse(alter(text)) as Snapshot;
    await trusted.restore(without);
    expect(trusted.messages()).toMatchObject([{ content: [{ text: 'gather2' }] }]);
  });

  test.for<readonly [string, (text: string) => string]>([
    ['altered', alter],
    ['without its checksum', (text) => alter(text).replace(/,"checksum":"[^"]*"\}$/, '}')],
  ])('%s in the store is not used: the session is folded from its log', async ([, change]) => {
    const store = memoryStore();
    const session = await open(store);
    await session.append([started(), user('hunter2', 0)]);
    await session.compact();
    const { seq, data } = (await store.readSnapshot('s1')) ?? { seq: 0, data: '' };
    expect(change(data)).not.toBe(data);
    const lying = withChanges(store, { readSnapshot: async () => ({ seq, data: change(data) }) });
    expect((await open(lying)).messages()).toMatchObject([{ content: [{ text: 'hunter2' }] }]);
  });
});

describe('a state of more than half a billion characters', () => {
  const half = 'x'.repeat(2 ** 28);
  const swollen = defineSlice({
    name: 'swollen',
    initial: [] as string[],
    on: { 'plan/added': (items) => (items.length > 0 ? items : [half, half]) },
  });

  test('cannot be compacted, with a typed error; closing and opening skip its snapshot', {
    timeout: 60_000,
  }, async () => {
    const store = memoryStore();
    const errors: unknown[] = [];
    const options = { store, id: 's1', slices: [swollen], onError: (error: unknown) => errors.push(error) };
    const session = await openSession(options);
    await session.append([user('hi', 0), add('a')]);
    expect(await rejection(session.compact())).toMatchObject({ code: 'SNAPSHOT_TOO_LARGE' });
    await session.append(Array.from({ length: 10_000 }, () => ({ type: 'other/thing' })));
    await session.eraseMessage('e1:0');
    await session.close();
    expect((await openSession(options)).seq).toBe(10_003);
    expect(await store.readSnapshot('s1')).toBeUndefined();
    expect(errors).toEqual([]);
    expect(session.snapshot().checksum).toBeUndefined();
  });
});
