import { describe, expect, test } from 'vitest';
import type { ContentPart, ConversationMessage } from '../../src/core/log/messages.ts';
import { contentHashes } from '../../src/session/read/contents.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { messageOf, recorded, user } from '../core/log.ts';
import { logIn } from './log-of.ts';
import { STORES } from './stores.ts';

const LARGE = 'large '.repeat(10);
const withParts = (...content: readonly ContentPart[]): ConversationMessage =>
  ({ ...messageOf('assistant', '', 0, { turn: 1 }), content }) as ConversationMessage;

describe.for(STORES)('D58: external content, on %s', ([, create]) => {
  test.for<readonly [string, ContentPart, boolean]>([
    ['a text', { type: 'text', text: LARGE }, true],
    [
      'a text with what its provider said',
      { type: 'text', text: LARGE, providerData: { provider: 'p', data: { a: 1 } } },
      true,
    ],
    ['a text with half a surrogate pair', { type: 'text', text: `${LARGE}\ud83d` }, true],
    ['an image', { type: 'image', mediaType: 'image/png', data: LARGE }, true],
    ['a file of plain text', { type: 'file', mediaType: 'text/plain', data: LARGE }, true],
    ['a file with a name', { type: 'file', mediaType: 'text/plain', data: LARGE, filename: 'a.txt' }, true],
    ['a small text', { type: 'text', text: 'small' }, false],
    ['reasoning, which a signature may cover', { type: 'reasoning', text: LARGE, signature: 's' }, false],
  ])('%s is unchanged when it is read', async ([, part, apart]) => {
    const store = await create();
    const session = await openSession({ store, id: 's1', maxInlineLength: 20 });
    const message = withParts({ type: 'text', text: 'before' }, part);
    await session.append([recorded(message)]);
    expect(JSON.stringify(await logIn(store)).includes('large large')).toBe(!apart && part.type === 'reasoning');
    const again = await openSession({ store, id: 's1' });
    for (const handle of [session, again]) {
      expect(JSON.stringify(handle.messages()).includes('sha256:')).toBe(apart);
      expect(await handle.resolve(handle.messages())).toEqual([message]);
    }
    expect((await store.check()).problems).toEqual([]);
  });

  test('texts that differ only in half a surrogate pair are two contents', async () => {
    const session = await openSession({ store: await create(), id: 's1', maxInlineLength: 20 });
    const texts = [`${LARGE}\ud800`, `${LARGE}\ud801`, `${LARGE}\ufffd`];
    await session.append(texts.map((text, i) => user(text, i)));
    const resolved = await session.resolve(session.messages());
    expect(resolved.map((message) => message.content)).toEqual(texts.map((text) => [{ type: 'text', text }]));
  });

  test('is stored as long as one session refers to it', async () => {
    const store = await create();
    const open = (id: string) => openSession({ store, id, maxInlineLength: 20 });
    const [one, other] = [await open('s1'), await open('s2')];
    await one.append([user(LARGE, 0)]);
    await other.append([user(LARGE, 0)]);
    await store.deleteSession('s1');
    expect(await other.resolve(other.messages())).toMatchObject([{ content: [{ type: 'text', text: LARGE }] }]);
    const [hash = ''] = other.messages().flatMap(contentHashes);
    await store.deleteSession('s2');
    expect(hash).toMatch(/^sha256:/);
    expect(await store.readContent('s2', hash)).toBeUndefined();
  });
});

test('messages without external content are returned unchanged', async () => {
  const session = await openSession({ store: memoryStore(), id: 's1' });
  await session.append([user('small', 0)]);
  const messages = session.messages();
  expect(await session.resolve(messages)).toBe(messages);
});

test('data that looks like a reference refers to no content of another session, and blocks nothing', async () => {
  const store = memoryStore();
  const victim = await openSession({ store, id: 'victim', maxInlineLength: 20 });
  await victim.append([user(LARGE, 0)]);
  const [hash = ''] = victim.messages().flatMap(contentHashes);
  const session = await openSession({ store, id: 's1' });
  const parts = [hash, 'sha256:invented'].map((data) => ({ type: 'file', mediaType: 'text/plain', data }) as const);
  await session.append([recorded(withParts(...parts))]);
  const [message] = await session.resolve(session.messages());
  expect(message?.content).toEqual(parts);
  expect((await store.check()).problems).toEqual([]);
});
