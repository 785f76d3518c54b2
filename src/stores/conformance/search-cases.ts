import assert from 'node:assert/strict';
import type { NewEvent, SessionEvent } from '../../core/log/events.ts';
import type { SearchOptions, Store } from '../../ports/store.ts';
import { encodeBytes } from '../source-bytes.ts';
import { type Case, leaseOn, message, note, refused, searchIn } from './harness.ts';

/** The events that a query finds, as `session/seq`, in the store's order. */
async function findInOrder(store: Store, query: string, options?: SearchOptions): Promise<readonly string[]> {
  const hits = await searchIn(store, query, options);
  return hits.map((hit) => `${hit.sessionId}/${hit.seq}`);
}

/** The same, sorted, for rules that are not about the order. */
async function find(store: Store, query: string, options?: SearchOptions): Promise<readonly string[]> {
  return [...(await findInOrder(store, query, options))].sort();
}

const TEXTS: readonly string[] = [
  /* 1 */ 'The quick brown fox jumps over the lazy dog',
  /* 2 */ 'Der Fuchs überquert die Straße bei Köln',
  /* 3 */ 'call write_file("src/main.ts") and read-only mode',
  /* 4 */ '機械学習のモデル は 東京 で',
  /* 5 */ 'fox brown: the wrong order',
  /* 6 */ 'CAFE\u0301 NAÏVE ÀÉÎ',
];

const QUERIES: readonly (readonly [query: string, hits: readonly number[]])[] = [
  ['fox', [1, 5]],
  ['FOX', [1, 5]],
  ['brown fox', [1, 5]],
  ['"brown fox"', [1]],
  ['"brown fox" lazy', [1]],
  ['"brown fox', [1]],
  ['fo*', [1, 5]],
  ['ju* laz*', [1]],
  ['fo', []],
  ['fuchs koln', [2]],
  ['ÜBERQUERT', [2]],
  ['strasse', []],
  ['straße', [2]],
  ['write_file', [3]],
  ['"write file"', [3]],
  ['src/main.ts', [3]],
  ['file write_', [3]],
  ['main.src', []],
  ['学習', [4]],
  ['習学', []],
  ['モデル 東京', [4]],
  ['cafe naive', [6]],
  ['café', [6]],
  ['fox cafe', []],
  ['', []],
  ['   ', []],
  ['"" * ( ) : ^ -', []],
  ['fox AND', []],
  ['fox -brown', [1, 5]],
  ["fox'; DROP TABLE search; --", []],
  ['fox" OR "lazy', []],
  ['NEAR(fox brown)', []],
  ['words:fox', []],
  ['\0fox\0', [1, 5]],
  ['\ud83d fox', [1, 5]],
];

/** Records of an imported session, in their event or as external content of it. */
function records(texts: readonly string[], name?: string): { readonly event: NewEvent; readonly data: string } {
  const line = (text: string): string =>
    `${JSON.stringify({ type: 'user', message: { role: 'user', content: text } })}\n`;
  const bytes = Buffer.from(texts.map(line).join(''));
  const { encoding, data } = encodeBytes(bytes);
  const place = { file: 'f', role: 'main', generation: 1, offset: 0, bytes: bytes.length, hash: '' } as const;
  const event: NewEvent = {
    type: 'source/recorded',
    at: '2026-01-01T00:00:00.000Z',
    ...place,
    encoding,
    ...(name === undefined ? { data } : { content: name }),
  };
  return { event, data };
}

const cases: readonly Case[] = [
  {
    name: 'search covers each record of an imported session, also in external content, until it is erased (D75)',
    async check({ store }) {
      const inline = records(['alpha one', 'beta two', 'alpha three', 'no JSON follows']);
      const external = records([...Array.from({ length: 300 }, (_, i) => `gamma${i} one`), 'delta'], 'sha256:records');
      const contents = [{ event: 1, hash: 'sha256:records', text: external.data }];
      await store.append('s', [inline.event, external.event], { id: 'a', expectedSeq: 0, contents });
      const hits = async (query: string, options?: SearchOptions) =>
        (await searchIn(store, query, options)).map(({ seq, role, excerpt }) => [seq, role, excerpt]);
      assert.deepEqual(await hits('alpha'), [
        [1, 'user', '⟦alpha⟧ three'],
        [1, 'user', '⟦alpha⟧ one'],
      ]);
      assert.deepEqual(await hits('alpha', { limit: 1 }), [[1, 'user', '⟦alpha⟧ three']]);
      assert.deepEqual(await hits('alpha beta'), [], 'words of two records');
      assert.deepEqual(await hits('gamma7 one'), [[2, 'user', '⟦gamma7⟧ ⟦one⟧']]);
      assert.equal((await hits('one', { limit: 1000 })).length, 301);
      const erased = records(['delta']);
      await store.replaceEvent('s', { ...erased.event, seq: 2 } as SessionEvent, { contents: [] });
      assert.deepEqual(await hits('gamma7'), []);
      assert.deepEqual(await hits('delta'), [[2, 'user', '⟦delta⟧']]);
      await store.deleteSession('s');
      assert.deepEqual(await hits('alpha'), []);
    },
  },
  {
    name: 'a query finds words without case or diacritics, phrases and prefixes, and is never a syntax error (I10)',
    async check({ store }) {
      await store.append(
        's',
        TEXTS.map((text) => message(text)),
        { id: 'a', expectedSeq: 0 },
      );
      for (const [query, expected] of QUERIES) {
        assert.deepEqual(
          await find(store, query),
          expected.map((seq) => `s/${seq}`),
          JSON.stringify(query),
        );
      }
      await refused(searchIn(store, 'fox', { limit: 0 }), 'INVALID_ARGUMENT');
    },
  },
  {
    name: 'search covers texts, tool calls, tool results and interrupted responses, and nothing else',
    async check({ store }) {
      const at = '2026-01-01T00:00:00.000Z';
      const messageWith = (fields: object): NewEvent =>
        ({
          type: 'message/recorded',
          at,
          message: { ...(message('') as { message?: object }).message, ...fields },
        }) as NewEvent;
      const events: readonly NewEvent[] = [
        messageWith({
          role: 'assistant',
          content: [
            { type: 'text', text: 'alpha one' },
            { type: 'reasoning', text: 'beta' },
            { type: 'text', text: 'two' },
          ],
          toolCalls: [{ callId: 'c', name: 'gamma_tool', arguments: '{"path":"delta.txt"}' }],
        }),
        messageWith({
          role: 'tool',
          toolCallId: 'c',
          toolName: 'gamma_tool',
          content: [{ type: 'text', text: 'epsilon' }],
          isError: false,
        }),
        {
          type: 'message/interrupted',
          at,
          evaluationId: 'e',
          conversationId: 'main',
          turn: 1,
          attempt: 1,
          blocks: [{ blockId: 'b', text: 'zeta' }],
        },
        note('eta'),
        { type: 'message/recorded', at, message: null } as unknown as NewEvent,
        {
          type: 'message/recorded',
          at,
          message: { role: 'user', content: [null, 5, { type: 'text' }] },
        } as unknown as NewEvent,
      ];
      await store.append('s', events, { id: 'a', expectedSeq: 0 });
      const roles = async (query: string) => (await searchIn(store, query)).map((hit) => [hit.seq, hit.role]);
      assert.deepEqual(await roles('alpha'), [[1, 'assistant']]);
      assert.deepEqual(await roles('onetwo'), []);
      assert.deepEqual(await roles('gamma_tool'), [[1, 'assistant']]);
      assert.deepEqual(await roles('delta.txt'), [[1, 'assistant']]);
      assert.deepEqual(await roles('epsilon'), [[2, 'tool']]);
      assert.deepEqual(await roles('zeta'), [[3, 'assistant']]);
      for (const word of ['beta', 'eta', 'path2', 'null']) assert.deepEqual(await roles(word), []);
    },
  },
  {
    name: 'a hit has its position and marks the words that matched',
    async check({ store }) {
      const long = `${'before '.repeat(50)}the Needle here${' after'.repeat(50)}`;
      await store.append('s', [message(long, 'assistant', '2026-05-05T00:00:00.000Z')], { id: 'a', expectedSeq: 0 });
      const [hit] = await searchIn(store, 'needle');
      assert.ok(hit);
      const { excerpt, ...place } = hit;
      assert.deepEqual(place, { sessionId: 's', seq: 1, at: '2026-05-05T00:00:00.000Z', role: 'assistant' });
      assert.match(excerpt, /the ⟦Needle⟧ here/);
      assert.ok(excerpt.length < long.length / 2, 'an excerpt is short');
      const [phrase] = await searchIn(store, '"needle here"');
      assert.match(phrase?.excerpt ?? '', /⟦Needle⟧ ⟦here⟧/);
    },
  },
  {
    name: 'a search can be limited to a session and to a number of hits',
    async check({ store }) {
      for (const id of ['s', 't', 's2']) {
        await store.append(
          id,
          Array.from({ length: 30 }, (_, i) => message(`apple ${i}`)),
          { id: 'a', expectedSeq: 0 },
        );
      }
      assert.equal((await searchIn(store, 'apple', { limit: 7 })).length, 7);
      assert.equal((await searchIn(store, 'apple', { limit: 1000 })).length, 90);
      const own = await searchIn(store, 'apple', { sessionId: 't', limit: 1000 });
      assert.equal(own.length, 30);
      assert.ok(own.every((hit) => hit.sessionId === 't'));
      assert.deepEqual(await find(store, '17', { sessionId: 't' }), ['t/18']);
      assert.deepEqual(await searchIn(store, 'apple', { sessionId: 'nobody' }), []);
    },
  },
  {
    name: 'hits are ordered newest first: by start of the session, then from the end of each session',
    async check({ store }) {
      await store.append('one', [message('apple, apple and apple'), message('pear')], { id: 'a', expectedSeq: 0 });
      await leaseOn(store, 'three');
      await store.append('two', [message('apple'), message('apple pie')], { id: 'a', expectedSeq: 0 });
      await store.append('one', [message('an apple a day')], { id: 'b', expectedSeq: 2 });
      const expected = ['two/2', 'two/1', 'one/3', 'one/1'];
      for (const limit of [1, 2, 3, 4, 100]) {
        assert.deepEqual(await findInOrder(store, 'apple', { limit }), expected.slice(0, limit), `limit ${limit}`);
      }
      assert.deepEqual(await findInOrder(store, 'apple', { sessionId: 'one', limit: 1 }), ['one/3']);
      await store.append('two', [message('apple once more')], { id: 'b', expectedSeq: 2 });
      await store.forkSession('one', 'three', { at: 1, events: [note('end')] });
      assert.deepEqual(await findInOrder(store, 'apple', { limit: 3 }), ['three/1', 'two/3', 'two/2']);
      await store.deleteSession('one');
      await store.append('one', [message('apple again')], { id: 'a', expectedSeq: 0 });
      assert.deepEqual(await findInOrder(store, 'apple', { limit: 2 }), ['one/1', 'three/1']);
    },
  },
  {
    name: 'a search finds everything that was committed before it, however much that is',
    async check({ store }) {
      const sessions = Array.from({ length: 20 }, (_, k) => `s${k}`);
      await Promise.all(
        sessions.map((id) =>
          store.append(
            id,
            Array.from({ length: 40 }, (_, i) => message(`word${i} in ${id} ${'filler '.repeat(30)}`)),
            {
              id: 'a',
              expectedSeq: 0,
            },
          ),
        ),
      );
      assert.deepEqual(await find(store, 'word39', { limit: 100 }), sessions.map((id) => `${id}/40`).sort());
      await store.append('s0', [message('brandnew')], { id: 'b', expectedSeq: 40 });
      assert.deepEqual(await find(store, 'brandnew'), ['s0/41']);
    },
  },
  {
    name: 'search does not find a deleted session of any length',
    async check({ store }) {
      const texts = Array.from({ length: 400 }, (_, i) => message(`number${i} shared`));
      await store.append('long', texts, { id: 'a', expectedSeq: 0 });
      await store.append('kept', [message('shared')], { id: 'a', expectedSeq: 0 });
      assert.equal((await searchIn(store, 'shared', { limit: 1000 })).length, 401);
      await store.deleteSession('long');
      assert.deepEqual(await find(store, 'shared'), ['kept/1']);
      assert.deepEqual(await find(store, 'number7'), []);
      await store.append('long', [message('shared anew')], { id: 'a', expectedSeq: 0 });
      assert.deepEqual(await find(store, 'shared'), ['kept/1', 'long/1']);
    },
  },
];

export const searchCases: readonly Case[] = cases.map((each) => ({ ...each, needs: ['search'] }));
