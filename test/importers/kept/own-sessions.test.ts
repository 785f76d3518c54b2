/** What an imported session refuses, and how a session of our own begins from it (D55, D75). */
import { describe, expect, test } from 'vitest';
import { createAdapter, definePrompt } from '../../../src/evaluate.ts';
import { checkCoherence } from '../../../src/history.ts';
import { memoryStore, openSession, scriptedModel } from '../../../src/index.ts';
import type { Store } from '../../../src/ports/store.ts';
import {
  continueTranscript,
  conversationOf,
  exportConversation,
  importTranscripts,
  messagesOf,
} from '../../../src/transcripts.ts';
import { copyOf, folder, write, writeDatabase, writeRealSession } from '../places.ts';
import { imported, prompt } from './support.ts';

const ID = 'claude-sdk:s1';
const REFUSED = { code: 'SESSION_IMPORTED', message: expect.stringContaining('continueTranscript') };
const ask = definePrompt({ ns: 'test', key: 'ask', instructions: 'Go on.' });

async function withSession(): Promise<Store> {
  const store = memoryStore();
  const root = write(folder(), { 's1.jsonl': prompt('s1', 0) + prompt('s1', 1) });
  await importTranscripts(store, { paths: [root] });
  return store;
}

describe('an imported session', () => {
  test('takes no evaluation, no run, no input, no fork and no messages, and keeps no lease', async () => {
    const store = await withSession();
    const session = await openSession({ store, id: ID });
    const adapter = createAdapter({ model: scriptedModel(['never']) });
    await expect(adapter.evaluate(ask, { session, input: 'x' })).rejects.toMatchObject(REFUSED);
    await expect(adapter.run(ask, { session })).rejects.toMatchObject(REFUSED);
    await expect(session.send('x')).rejects.toMatchObject(REFUSED);
    await expect(session.fork()).rejects.toMatchObject(REFUSED);
    await expect(session.append([{ type: 'evaluation/completed', evaluationId: 'e' }])).rejects.toMatchObject(REFUSED);
    expect(await store.readLease(ID)).toBeUndefined();
    expect((await store.listSessions({ work: true })).sessions).toEqual([]);
  });

  test('is still one when it is opened from a snapshot', async () => {
    const store = await withSession();
    await (await openSession({ store, id: ID })).compact();
    const session = await openSession({ store, id: ID });
    expect(session.summary?.source).toMatchObject({ architecture: 'claude-sdk', sessionId: 's1' });
    await expect(session.send('x')).rejects.toMatchObject(REFUSED);
  });

  test('can be described, and a title that a person gave it survives the next import', async () => {
    const store = memoryStore();
    const root = write(folder(), { 's1.jsonl': prompt('s1', 0) });
    await importTranscripts(store, { paths: [root] });
    const session = await openSession({ store, id: ID });
    await session.describe({ title: 'Mine', tags: ['kept'] });
    write(root, { 's1.jsonl': prompt('s1', 0) + prompt('s1', 1) });
    await importTranscripts(store, { paths: [root] });
    expect((await imported(store))[0]).toMatchObject({ title: 'Mine', tags: ['kept'], metadata: { messages: 2 } });
  });

  test('records cannot be appended to a session that has events of its own', async () => {
    const session = await openSession({ store: memoryStore(), id: 'own' });
    await session.append([{ type: 'note/added' }]);
    const replaced = { type: 'source/replaced', file: 'x', generation: 2 };
    await expect(session.append([replaced])).rejects.toMatchObject({ code: 'EVENT_INVALID' });
  });

  test('is exported like any other conversation', async () => {
    const store = await withSession();
    const { content } = exportConversation(await messagesOf(await openSession({ store, id: ID })), {
      format: 'markdown',
    });
    expect(content).toContain('prompt 1');
  });
});

describe('continuing an imported session', () => {
  test('makes a session of our own that a model continues, and that survives its origin', async () => {
    const store = await withSession();
    const session = await continueTranscript(store, ID, { id: 'mine' });
    expect(session.summary).toMatchObject({ forkedFrom: { sessionId: ID }, title: 'prompt 0', status: 'completed' });
    expect(session.summary?.source).toBeUndefined();
    await store.deleteSession(ID);
    const adapter = createAdapter({ model: scriptedModel(({ messages }) => `${messages.length}`) });
    const { text } = await adapter.evaluate(ask, { session, continues: true, input: 'next' });
    expect(text).toBe('4'); // system, two prompts, the new one
    expect(JSON.stringify(await conversationOf(session))).toContain('prompt 1');
    expect((await messagesOf(session)).length).toBe(session.messages().length);
    await expect(continueTranscript(store, ID)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });

  test('into a session that exists is refused and changes nothing', async () => {
    const store = await withSession();
    const mine = await openSession({ store, id: 'mine' });
    await mine.append([{ type: 'note/added' }]);
    await expect(continueTranscript(store, ID, { id: 'mine' })).rejects.toMatchObject({ code: 'SESSION_CONFLICT' });
    expect((await store.head('mine')).seq).toBe(1);
    await expect(continueTranscript(store, 'mine')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(continueTranscript(store, ID, { at: 'nothing' })).rejects.toMatchObject({
      code: 'CONVERSATION_NOT_FOUND',
    });
  });

  test('at any block records coherent messages that hold no text of later blocks', async () => {
    const store = memoryStore();
    const root = copyOf('claude-code-2.1.325');
    writeRealSession(root);
    writeDatabase(root);
    await importTranscripts(store, { paths: [root] });
    let cuts = 0;
    for (const { id } of await imported(store)) {
      const session = await openSession({ store, id });
      const blocks = [...(await conversationOf(session)).blocks];
      const all = await messagesOf(session);
      const step = Math.ceil(blocks.length / 12);
      let previous = 0;
      for (let i = 0; i < blocks.length; i += step) {
        const at = blocks[i]?.id ?? '';
        const forked = await continueTranscript(store, id, { at });
        const messages = forked.messages();
        expect(checkCoherence(messages), `${id} at ${at}`).toMatchObject({ ok: true });
        expect(messages.length).toBeGreaterThanOrEqual(previous);
        expect(messages.length).toBeLessThanOrEqual(all.length);
        previous = messages.length;
        const later = blocks.slice(i + 1).find(({ type }) => type === 'user_message');
        if (later) expect(messages.some((message) => message.id === later.id)).toBe(false);
        cuts++;
      }
      const last = blocks.at(-1);
      if (last) {
        const whole = await continueTranscript(store, id, { at: last.id });
        expect(whole.messages().map(({ id: message }) => message)).toEqual(all.map(({ id: message }) => message));
      }
    }
    expect(cuts).toBeGreaterThan(150);
  });
});
