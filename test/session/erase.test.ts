import { describe, expect, test } from 'vitest';
import { appendAll, defineSlice } from '../../src/core/fold/slices.ts';
import { messages } from '../../src/core/views/session-view.ts';
import type { Store } from '../../src/ports/store.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { answer, callOf, messageOf, plain, recorded, refOf, result, started, user } from '../core/log.ts';
import { logIn, rejection, until } from './log-of.ts';
import { STORES, withChanges } from './stores.ts';

/** A slice that copies message texts: its author did not expect an erasure. */
const said = defineSlice({ name: 'said', initial: [], on: { 'message/recorded': appendAll } });

const SECRET = 'squeamish ossifrage';

/** Everything that can be read from a store about a session. */
async function everythingIn(store: Store): Promise<string> {
  return JSON.stringify([
    await logIn(store),
    await store.readSnapshot('s1'),
    await store.search?.('ossifrage'),
    await store.listSessions(),
  ]);
}

describe.for(STORES)('D58: an erased message, on %s', ([, create]) => {
  test('is removed from the log, the snapshot, the search and every handle; its position stays', async () => {
    const store = await create();
    const open = () => openSession({ store, id: 's1', slices: [said] });
    const session = await open();
    const other = await open();
    await session.append([
      started(),
      user(SECRET, 0),
      answer(1, [], { toolCalls: [callOf('a', { arguments: JSON.stringify({ text: SECRET }) })] }),
      result(2, 'a'),
    ]);
    await session.compact();
    await other.refresh();
    expect(await store.search?.('ossifrage')).toHaveLength(2);

    await session.eraseMessage('e1:0', 'asked for');
    await session.eraseMessage('e1:1');
    await other.refresh();

    expect(await everythingIn(store)).not.toContain('ossifrage');
    for (const handle of [session, other, await open()]) {
      expect(JSON.stringify([handle.snapshot(), handle.select(said).all(), handle.state.record])).not.toContain(
        'ossifrage',
      );
      expect(handle.messages()).toMatchObject([
        { id: 'e1:0', role: 'user', content: [{ type: 'text', text: '[erased]' }] },
        { id: 'e1:1', role: 'assistant', toolCalls: [{ callId: 'a', name: 'write', arguments: '{}' }] },
        { id: 'e1:2', role: 'tool' },
      ]);
    }
    expect((await logIn(store)).slice(-2)).toMatchObject([
      { type: 'message/erased', messageId: 'e1:0', reason: 'asked for' },
      { type: 'message/erased', messageId: 'e1:1' },
    ]);
    expect((await store.check()).problems).toEqual([]);
  });

  test('external content is removed, unless another message refers to it', async () => {
    const store = await create();
    const session = await openSession({ store, id: 's1', maxInlineLength: 10 });
    const [own, shared] = [`${SECRET} own`, `${SECRET} shared`];
    const both = {
      ...messageOf('user', '', 0),
      content: [
        { type: 'text', text: own },
        { type: 'text', text: shared },
      ],
    } as const;
    await session.append([recorded(both as never), user(shared, 1)]);
    const hashes = session
      .messages()
      .flatMap((message) => message.content.map((part) => ('data' in part ? part.data : '')));
    await session.eraseMessage('e1:0');
    expect(await store.readContent('s1', hashes[0] ?? '')).toBeUndefined();
    expect((await session.resolve(session.messages()))[1]?.content).toEqual([{ type: 'text', text: shared }]);
    await session.eraseMessage('e1:1');
    expect(await store.readContent('s1', hashes[1] ?? '')).toBeUndefined();
    expect((await store.check()).problems).toEqual([]);
  });
});

describe('D58: nothing remains', () => {
  test('of a message that was written twice, of events in its append, of the settlement that became the message', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1' });
    const settled = messageOf('tool', SECRET, 1, { turn: 1, toolCallId: 'a' });
    await session.append([
      started(),
      answer(0, ['a', 'b']),
      { type: 'tool/settled', ...refOf('a'), how: { result: SECRET } },
      { type: 'tool/settled', ...refOf('b'), how: { result: 'not a secret' } },
      recorded(settled, { providerPayload: SECRET, model: 'm', usage: { inputTokens: 1, outputTokens: 1 } }),
    ]);
    await session.append([recorded(settled)]);
    await session.eraseMessage('e1:1');
    expect(await everythingIn(store)).not.toContain('ossifrage');
    expect(await logIn(store)).toMatchObject([
      {},
      {},
      {},
      { how: { result: 'not a secret' } },
      { model: 'm', usage: { inputTokens: 1 } },
      {},
      {},
    ]);
    expect(JSON.stringify(session.state.record)).not.toContain('ossifrage');
  });

  test('of a message that a summary quotes: summaries are created again when they are needed (D56)', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1' });
    const summary = (key: string, text: string) =>
      ({ type: 'history/summarized', evaluationId: 'e1', key, text }) as const;
    await session.append([
      started(),
      summary('before', 'harmless'),
      user(SECRET, 0),
      summary('after', `He said ${SECRET}`),
    ]);
    expect(session.state.record.summaries.length).toBe(2);
    await session.eraseMessage('e1:0');
    expect(await everythingIn(store)).not.toContain('ossifrage');
    expect(await everythingIn(store)).toContain('harmless');
    expect(session.state.record.summaries.length).toBe(0);
    expect(plain((await openSession({ store, id: 's1' })).state)).toEqual(plain(session.state));
    await session.append([summary('after', 'made again')]);
    expect(session.state.record.summaries.length).toBe(1);
  });

  test('of a message that is quoted by a summary which is recorded during the erasure', async () => {
    const store = memoryStore();
    const runner = await openSession({ store, id: 's1' });
    await runner.append([started(), user(SECRET, 0)]);
    const text = `He said ${SECRET}`;
    let summarized: Promise<unknown> | undefined;
    const meanwhile = withChanges(store, {
      async replaceEvent(...args) {
        summarized ??= runner.append([{ type: 'history/summarized', evaluationId: 'e1', key: 'k', text }]);
        await summarized;
        return store.replaceEvent(...args);
      },
    });
    await (await openSession({ store: meanwhile, id: 's1' })).eraseMessage('e1:0');
    expect((await logIn(store)).map(({ type }) => type)).toContain('history/summarized');
    expect(await everythingIn(store)).not.toContain('ossifrage');
  });

  test('of a message that was restored from a snapshot', async () => {
    const origin = await openSession({ store: memoryStore(), id: 's0' });
    await origin.append([
      started(),
      user(SECRET, 0),
      answer(1, [], { toolCalls: [callOf('a', { arguments: `"${SECRET}"` })] }),
    ]);
    const store = memoryStore();
    const session = await openSession({ store, id: 's1' });
    await session.restore(origin.snapshot());
    await session.eraseMessage('e1:0');
    await session.eraseMessage('e1:1');
    expect(await everythingIn(store)).not.toContain('ossifrage');
    expect(JSON.stringify((await openSession({ store, id: 's1' })).state.record)).not.toContain('ossifrage');
    expect(session.messages().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']); // its call was closed
  });

  test('in a snapshot that a handle took before the erasure and writes after it', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1', slices: [said] });
    await session.append([user(SECRET, 0)]);
    const late = { seq: session.seq, data: JSON.stringify(session.snapshot()) };
    const { revision } = await store.head('s1');
    await session.eraseMessage('e1:0');
    await store.writeSnapshot('s1', late, { revision });
    expect(await everythingIn(store)).not.toContain('ossifrage');
  });

  test('of a stored snapshot from before the erasure: it is not used', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1', slices: [said] });
    await session.append([user(SECRET, 0)]);
    const tainted = { seq: session.seq, data: JSON.stringify(session.snapshot()) };
    await session.eraseMessage('e1:0');
    const again = await openSession({
      store: { ...store, readSnapshot: async () => tainted },
      id: 's1',
      slices: [said],
    });
    expect(JSON.stringify(again.snapshot())).not.toContain('ossifrage');
    // Nor its data of slices that this process does not define, whether or not the rest of it is used.
    for (const version of [1, 9]) {
      const data = tainted.data.replace('"usage":{"version":1', `"usage":{"version":${version}`);
      const unknowing = await openSession({
        store: { ...store, readSnapshot: async () => ({ seq: 1, data }) },
        id: 's1',
      });
      expect(JSON.stringify(unknowing.snapshot())).not.toContain('ossifrage');
    }
  });
});

describe('erasing', () => {
  test('is observed as a change, but not by observers of unaffected slices', async () => {
    const store = memoryStore();
    const untouched = defineSlice({
      name: 'untouched',
      initial: [] as string[],
      on: { 'a/a': (items) => [...items, 'a'] },
    });
    const session = await openSession({ store, id: 's1', slices: [said, untouched] });
    await session.append([user(SECRET, 0), { type: 'a/a' }]);
    const reader = await openSession({ store, id: 's1', slices: [said, untouched] });
    const seen: string[] = [];
    reader.observe(messages, () => void seen.push('messages'));
    reader.observe(said, () => void seen.push('said'));
    reader.observe(untouched, () => void seen.push('untouched'));
    await session.eraseMessage('e1:0');
    await until(() => seen.length >= 2);
    expect(seen).toEqual(['messages', 'said']);
  });

  test('loses no concurrent appends', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1', slices: [said] });
    const other = await openSession({ store, id: 's1', slices: [said] });
    await session.append([user(SECRET, 0)]);
    await Promise.all([
      session.eraseMessage('e1:0'),
      ...Array.from({ length: 5 }, (_, i) => session.append([user('own', i + 1)])),
      ...Array.from({ length: 5 }, (_, i) => other.append([user('other', i, { evaluationId: 'e2' })])),
    ]);
    await Promise.all([session.refresh(), other.refresh()]);
    for (const handle of [session, other]) {
      expect(handle.messages()).toHaveLength(11);
      expect(handle.select(said).all()).toHaveLength(11);
      expect(JSON.stringify(handle.select(said).all())).not.toContain('ossifrage');
    }
  });

  test('an unknown message is an error, and changes nothing', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1' });
    await session.append([user('hi', 0)]);
    expect(await rejection(session.eraseMessage('nobody'))).toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
    expect(await logIn(store)).toHaveLength(1);
  });

  test('twice has the same effect as once', async () => {
    const session = await openSession({ store: memoryStore(), id: 's1' });
    await session.append([user(SECRET, 0)]);
    await session.eraseMessage('e1:0');
    await session.eraseMessage('e1:0');
    expect(session.messages()).toMatchObject([{ content: [{ text: '[erased]' }] }]);
  });
});
