/** Readers whose cursors are the same, and who have not read the same: a draft ended between their reads (D74). */
import { expect, onTestFinished, test } from 'vitest';
import { memoryStore, type Store } from '../../src/index.ts';
import { withChanges } from '../session/stores.ts';
import { following, message, opened, words } from '../session/tail/draft-chunks.ts';
import { readUntil, type SseMessage, serve, sseMessages } from './support.ts';

/** A store that calls `act` before the first read of chunks after number `n`. */
function actingBeforeRead(n: number, act: () => Promise<unknown>): Store {
  const store = memoryStore();
  let isDone = false;
  return withChanges(store, {
    async readDraft(id, options) {
      if (options?.after?.n === n && !isDone) {
        isDone = true;
        await act();
      }
      return store.readDraft(id, options);
    },
  });
}

async function follow(url: string, cursor: string): Promise<AsyncGenerator<SseMessage, void>> {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  return sseMessages(await fetch(url, { headers: { 'last-event-id': cursor }, signal: stop.signal }));
}

const itemsOf = (messages: readonly SseMessage[]): readonly string[] =>
  messages.flatMap(({ event, data }) => (event === undefined && data !== undefined ? [words(JSON.parse(data))] : []));

const of = (
  evaluationId: string,
): { readonly draftId: string; readonly evaluationId: string; readonly blockId: string } => ({
  draftId: evaluationId,
  evaluationId,
  blockId: `${evaluationId}:1:0`,
});

test('a reader that lacks pieces of a draft that has ended gets no later ones from the others', async () => {
  const store = actingBeforeRead(1, () => session.append([message('Hello')], { endsDrafts: ['x'] }));
  const { url } = await serve({ store });
  const path = `${url}/sessions/s/stream`;
  const { session, writer } = await opened(store);
  for (const n of [1, 2]) for (const id of ['x', 'y', 'z']) await writer.text(`${id}${n}`, of(id));
  const steady = await follow(path, '2.1.6');
  await readUntil(steady, ({ event }) => event === 'live');
  await writer.text('x3', of('x'));
  await writer.text('y3', of('y'));
  await readUntil(steady, ({ id }) => id === '2.1.8');
  const cut = await follow(path, '2.1.1');
  expect(itemsOf(await readUntil(cut, ({ id }) => id?.startsWith('3') === true))).toEqual([
    ...['2.1.2 y1@0', '2.1.3 z1@0', '2.1.5 y2@2', '2.1.6 z2@2', '2.1.8 y3@4'],
    ...['2.1.8 draft/reset', '3.1.8 message/recorded'],
  ]);
});

test('a reset keeps the reader in its place: what others have read of the draft is not sent after it', async () => {
  const store = actingBeforeRead(1, () => session.append([message('Hello')], { endsDrafts: ['ev'] }));
  const { url } = await serve({ store });
  const path = `${url}/sessions/s/stream`;
  const { session, writer } = await opened(store);
  await writer.text('Hel');
  await writer.text('lo');
  const steady = await follow(path, '2');
  await readUntil(steady, ({ id }) => id === '2.1.2');
  const cut = await follow(path, '2.1.1');
  expect(itemsOf(await readUntil(cut, ({ id }) => id?.startsWith('3') === true))).toEqual([
    '2.1.1 draft/reset',
    '3 message/recorded',
  ]);
});

test('a tail that continues does not share a read that began before it', async () => {
  const inner = memoryStore();
  const begun = Promise.withResolvers<void>();
  const allowed = Promise.withResolvers<void>();
  let reads = 0;
  const store = withChanges(inner, {
    watch: () => () => {}, // the change of another process, not noticed yet
    async readDraft(id, options) {
      const chunks = await inner.readDraft(id, options);
      if (reads++ === 0) {
        begun.resolve();
        await allowed.promise;
      }
      return chunks;
    },
  });
  const { session, writer } = await opened(store);
  for (const n of [1, 2]) for (const id of ['x', 'y']) await writer.text(`${id}${n}`, of(id));
  await writer.text('x3', of('x'));
  const first = following(session, { after: '2.1.4' });
  const early = first.next(1);
  await begun.promise;
  await session.append([message('Hello')], { endsDrafts: ['x'] });
  const second = following(session, { after: '2.1.4' });
  const late = second.next(2);
  allowed.resolve();
  expect(await late).toEqual(['2.1.4 draft/reset', '3.1.4 message/recorded']);
  expect(await early).toEqual(['2.1.5 x3@4']);
  await first.iterator.return?.();
  await second.iterator.return?.();
});
