import { describe, expect, test } from 'vitest';
import {
  createConversationState,
  logConverter,
  messagesToEvents,
  reduceConversationEvents,
} from '../../../src/conversation.ts';
import type { MessageDelta } from '../../../src/core/log/message-delta.ts';
import { MAX_PROGRESS_LENGTH } from '../../../src/core/log/progress.ts';
import type { DraftsReplaced } from '../../../src/core/log/tail.ts';
import { openSession, type Store, type TailItem } from '../../../src/index.ts';
import type { DraftChunk } from '../../../src/ports/store.ts';
import { collect, rejection } from '../log-of.ts';
import { STORES } from '../stores.ts';
import { following, message, opened, words } from './draft-chunks.ts';

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
