/** Sessions of many megabytes: pages and bodies are bounded, and other work runs while they are read. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { memoryStore, openSession } from '../../src/index.ts';
import { jsonPieces, jsonResponse } from '../../src/server/http/json-response.ts';
import { afterLongTurn } from '../../src/server/http/long-turns.ts';
import { createServer } from '../../src/server.ts';
import { serve } from './support.ts';

test('the pieces of a value are its JSON, whatever it holds', () => {
  const special = fc.constantFrom(undefined, new Date(0), { toJSON: () => [1, undefined] }, Number.NaN, '\ud800');
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.jsonValue(),
      special,
      fc.array(tie('value')),
      fc.dictionary(fc.string(), tie('value')),
    ),
  }));
  fc.assert(
    fc.property(value, (given) => {
      expect([...jsonPieces({ given })].join('')).toBe(JSON.stringify({ given }));
    }),
  );
});

test.for([0, 10, 70_000, 200_000])('a body with a text of %i characters is complete', async (length) => {
  const value = { state: { blocks: [{ content: 'é'.repeat(length) }, 'end'] } };
  const response = jsonResponse(value, 200);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(await response.json()).toEqual(value);
});

test('long work waits for the next turn of the event loop, short work does not', async () => {
  await new Promise(setImmediate);
  expect(afterLongTurn()).toBeUndefined();
  for (const start = performance.now(); performance.now() - start < 15; );
  let isNextTurn = false;
  setImmediate(() => {
    isNextTurn = true;
  });
  const wait = afterLongTurn();
  expect(wait).toBeInstanceOf(Promise);
  expect(afterLongTurn()).toBe(wait);
  await wait;
  await new Promise(setImmediate);
  expect(isNextTurn).toBe(true);
  expect(afterLongTurn()).toBeUndefined();
});

async function largeSession(megabytes: number): Promise<ReturnType<typeof memoryStore>> {
  const store = memoryStore();
  const session = await openSession({ store, id: 'a' });
  const text = 'All work and no play. '.repeat(1000); // longer ones are stored outside the log
  for (let i = 0; i * text.length < megabytes * 2 ** 20; i++) await session.send(text, { id: `m${i}` });
  await session.close();
  return store;
}

test('a page of events ends at 4 MiB, and the pages are all events', async () => {
  const { json } = await serve({ store: await largeSession(10) });
  const seqs: number[] = [];
  const pages: number[] = [];
  for (let after: unknown = '0'; after !== undefined; ) {
    const { events, next } = (await json(`/sessions/a/events?after=${after}&limit=1000`)) as {
      readonly events: { readonly seq: number }[];
      readonly next?: string;
    };
    seqs.push(...events.map(({ seq }) => seq));
    pages.push(JSON.stringify(events).length);
    after = next;
  }
  expect(pages.length).toBeGreaterThan(1);
  for (const length of pages) expect(length).toBeLessThan(6 * 2 ** 20);
  expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, i) => i + 1));
  expect((await json('/sessions/a')).seq).toBe(seqs.length);
});

test.for(['/sessions/a/queue', '/sessions/a/stream'])('%s lets other work run', async (path) => {
  const server = createServer({ store: await largeSession(40) });
  const response = await server.fetch(new Request(`http://localhost${path}`));
  let turns = 0;
  const count = (): void => {
    turns++;
    if (!isRead) setImmediate(count);
  };
  let isRead = false;
  setImmediate(count);
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > 35 * 2 ** 20) break;
  }
  isRead = true;
  expect(turns).toBeGreaterThan(2);
  await server.close();
});
