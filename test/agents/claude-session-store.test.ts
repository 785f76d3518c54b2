import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as sdk from '@anthropic-ai/claude-agent-sdk';
import { afterEach, describe, expect, expectTypeOf, test } from 'vitest';
import type { ClaudeAgentSdk, ClaudeTranscriptEntry } from '../../src/agents/claude-agent/sdk-types.ts';
import type { ClaudeSessionStore } from '../../src/claude-agent.ts';
import { claudeSessionStore } from '../../src/claude-agent.ts';
import type { Store } from '../../src/ports/store.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { temporaryDirectory } from './support/temporary.ts';

/** The SDK's `SessionStore` contract, sentence by sentence (D27), on every store. */

const { foldSessionSummary } = sdk;
const open: Store[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});

const STORES: readonly (readonly [string, () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['SQLite', () => sqliteStore(join(temporaryDirectory('store'), 'log.db'))],
];

const PROJECT = '-home-me-project';
const line = (text: string, fields: Partial<ClaudeTranscriptEntry> = {}): ClaudeTranscriptEntry => ({
  type: 'user',
  uuid: randomUUID(),
  timestamp: '2026-01-01T00:00:00.000Z',
  message: { role: 'user', content: [{ type: 'text', text }] },
  ...fields,
});

test("our store is the SDK's own type, and the SDK is ours", () => {
  expectTypeOf<ClaudeSessionStore>().toExtend<sdk.SessionStore>();
  expectTypeOf<typeof sdk>().toExtend<Required<Pick<ClaudeAgentSdk, 'foldSessionSummary'>>>();
});

describe.for(STORES)('claudeSessionStore on %s', ([, openStore]) => {
  const setUp = async (): Promise<{
    store: Store;
    sessions: ClaudeSessionStore;
    key: { projectKey: string; sessionId: string };
  }> => {
    const store = await openStore();
    open.push(store);
    return {
      store,
      sessions: claudeSessionStore(store, { foldSessionSummary }),
      key: { projectKey: PROJECT, sessionId: randomUUID() },
    };
  };

  test('append: entries are persisted in append-call order, also when calls are not awaited', async () => {
    const { sessions, key } = await setUp();
    const entries = Array.from({ length: 50 }, (_, i) => line(`${i}`));
    await Promise.all(entries.map((entry) => sessions.append(key, [entry])));
    expect(await sessions.load(key)).toEqual(entries);
  });

  test('append: across writers order is by commit, and nothing is lost', async () => {
    const { store, sessions, key } = await setUp();
    const other = claudeSessionStore(store, { foldSessionSummary });
    const mine = Array.from({ length: 20 }, (_, i) => line(`a${i}`));
    const theirs = Array.from({ length: 20 }, (_, i) => line(`b${i}`));
    await Promise.all([
      ...mine.map((entry) => sessions.append(key, [entry])),
      ...theirs.map((entry) => other.append(key, [entry])),
    ]);
    const loaded = (await sessions.load(key)) ?? [];
    const of = (set: readonly ClaudeTranscriptEntry[]): unknown =>
      loaded.filter(({ uuid }) => set.some((one) => one.uuid === uuid));
    expect(loaded).toHaveLength(40);
    expect(of(mine)).toEqual(mine);
    expect(of(theirs)).toEqual(theirs);
  });

  test('append: a uuid is an idempotency key, within a batch, across batches, writers and restarts', async () => {
    const { store, sessions, key } = await setUp();
    const [a, b] = [line('a'), line('b')];
    await sessions.append(key, [a, a]);
    await sessions.append(key, [a, b]);
    await claudeSessionStore(store, { foldSessionSummary }).append(key, [b, a]);
    expect(await sessions.load(key)).toEqual([a, b]);
  });

  test('append: entries without a uuid are appended without deduplication', async () => {
    const { sessions, key } = await setUp();
    const mode = { type: 'mode', mode: 'normal' };
    await sessions.append(key, [mode]);
    await sessions.append(key, [mode, mode]);
    expect(await sessions.load(key)).toEqual([mode, mode, mode]);
  });

  test('append: a retry after a rejection does not duplicate stored entries', async () => {
    const { store, key } = await setUp();
    let failures = 1;
    const shaky: Store = Object.create(store, {
      append: {
        value: async (...args: Parameters<Store['append']>) => {
          const answer = await store.append(...args);
          if (failures-- > 0) throw new Error('the acknowledgement was lost');
          return answer;
        },
      },
    });
    const sessions = claudeSessionStore(shaky, { foldSessionSummary });
    const entry = line('once');
    await expect(sessions.append(key, [entry])).rejects.toThrow('acknowledgement');
    await sessions.append(key, [entry]);
    expect(await sessions.load(key)).toEqual([entry]);
  });

  test('load: null for a key that was never written, also after an empty append', async () => {
    const { sessions, key } = await setUp();
    expect(await sessions.load(key)).toBeNull();
    await sessions.append(key, []);
    expect(await sessions.load(key)).toBeNull();
    await sessions.append(key, [line('a')]);
    expect(await sessions.load({ ...key, subpath: 'subagents/agent-x' })).toBeNull();
  });

  test('load: entries are deep-equal to the appended ones, for any JSON', async () => {
    const { sessions, key } = await setUp();
    const odd = line('odd', {
      nested: { list: [1, null, { deep: ['\u0000', '\ud800', '😀', ''] }], float: 0.1, big: 1e300, no: false },
      'a.b': {},
      seq: 7,
      at: 'elsewhere',
    });
    const large = line('x'.repeat(3_000_000));
    await sessions.append(key, [odd, large]);
    expect(await sessions.load(key)).toEqual([odd, large]);
  });

  test('load: a session is found by its id with any project key', async () => {
    const { sessions, key } = await setUp();
    const [a, b] = [line('a'), line('b')];
    await sessions.append(key, [a]);
    expect(await sessions.load({ ...key, projectKey: '-elsewhere' })).toEqual([a]);
    await sessions.append({ ...key, projectKey: '-elsewhere' }, [a, b]);
    expect(await sessions.load(key)).toEqual([a, b]);
    for (const projectKey of [PROJECT, '-elsewhere']) {
      expect((await sessions.listSessions(projectKey)).map(({ sessionId }) => sessionId)).toEqual([key.sessionId]);
    }
  });

  test('the empty subpath is invalid, and any other is opaque', async () => {
    const { sessions, key } = await setUp();
    await expect(sessions.append({ ...key, subpath: '' }, [line('a')])).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await expect(sessions.load({ ...key, subpath: '' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    const subpaths = ['subagents/agent-1', 'subagents/workflows/wf_1/agent-2', 'weird %2F path', '..', 'ä'];
    for (const subpath of subpaths) await sessions.append({ ...key, subpath }, [line(subpath, { uuid: 'same' })]);
    for (const subpath of subpaths) {
      expect(await sessions.load({ ...key, subpath })).toMatchObject([{ message: { content: [{ text: subpath }] } }]);
    }
    expect((await sessions.listSubkeys(key)).toSorted()).toEqual(subpaths.toSorted());
    expect(await sessions.load(key)).toBeNull();
  });

  test('listSubkeys: all keys of this session, none of another whose id starts alike', async () => {
    const { sessions } = await setUp();
    const key = { projectKey: PROJECT, sessionId: 'abc' };
    await sessions.append({ projectKey: PROJECT, sessionId: 'abcd', subpath: 'x' }, [line('x')]);
    expect(await sessions.listSubkeys(key)).toEqual([]);
    await sessions.append({ ...key, subpath: 'y' }, [line('y')]);
    expect(await sessions.listSubkeys(key)).toEqual(['y']);
  });

  test('listSessions: the sessions of a project with whole milliseconds, subagents not among them', async () => {
    const { sessions } = await setUp();
    expect(await sessions.listSessions(PROJECT)).toEqual([]);
    const ids = Array.from({ length: 250 }, () => randomUUID());
    for (const sessionId of ids) await sessions.append({ projectKey: PROJECT, sessionId }, [line('hi')]);
    await sessions.append({ projectKey: PROJECT, sessionId: ids[0] as string, subpath: 'subagents/agent-1' }, [
      line('sub'),
    ]);
    await sessions.append({ projectKey: '-other', sessionId: randomUUID() }, [line('other')]);
    const listed = await sessions.listSessions(PROJECT);
    expect(listed.map(({ sessionId }) => sessionId).toSorted()).toEqual(ids.toSorted());
    for (const { mtime } of listed) expect(Number.isSafeInteger(mtime)).toBe(true);
  });

  test("listSessionSummaries: the result of foldSessionSummary over all appends, verbatim, with the listing's mtime", async () => {
    const { store, sessions, key } = await setUp();
    const batches = [
      [line('the first prompt', { cwd: '/a', gitBranch: 'main' })],
      [{ type: 'custom-title', customTitle: 'Mine' }, line('later')],
      [{ type: 'mode', mode: 'normal' }],
      [{ type: 'custom-title', customTitle: 'Renamed' }],
    ];
    let expected: sdk.SessionSummaryEntry | undefined;
    for (const [i, batch] of batches.entries()) {
      // With alternating writers the fold continues from the stored summary, not from one process's memory.
      await (i % 2 ? claudeSessionStore(store, { foldSessionSummary }) : sessions).append(key, batch);
      expected = foldSessionSummary(expected, key, batch, { mtime: 1 });
    }
    const [summary, ...rest] = await sessions.listSessionSummaries(PROJECT);
    expect(rest).toEqual([]);
    expect(summary?.data).toEqual(expected?.data);
    expect(summary).toMatchObject((await sessions.listSessions(PROJECT))[0] ?? {});
    expect(await sessions.listSessionSummaries('-other')).toEqual([]);
  });

  test('listSessionSummaries: racing appends to one session lose no update', async () => {
    const { store, key } = await setUp();
    const writers = Array.from({ length: 4 }, () => claudeSessionStore(store, { foldSessionSummary }));
    await Promise.all(
      writers.map((writer, i) =>
        writer.append(key, [
          line('hello', { cwd: '/a' }),
          { type: i === 2 ? 'custom-title' : 'mode', customTitle: 'T' },
        ]),
      ),
    );
    const [summary] = await (writers[0] as ClaudeSessionStore).listSessionSummaries(PROJECT);
    expect(summary?.data).toMatchObject({ customTitle: 'T', cwd: '/a', firstPrompt: 'hello' });
  });

  test('delete: a session is removed with its subagents, another stays; a subagent can be removed alone; a removed key can be written again', async () => {
    const { sessions, key } = await setUp();
    const other = { ...key, sessionId: randomUUID() };
    const sub = { ...key, subpath: 'subagents/agent-1' };
    const entry = line('a');
    for (const one of [key, other, sub, { ...key, subpath: 'b' }]) await sessions.append(one, [entry]);
    await sessions.delete(sub);
    expect(await sessions.listSubkeys(key)).toEqual(['b']);
    await sessions.delete(key);
    expect(await sessions.load(key)).toBeNull();
    expect(await sessions.listSubkeys(key)).toEqual([]);
    expect((await sessions.listSessions(PROJECT)).map(({ sessionId }) => sessionId)).toEqual([other.sessionId]);
    await sessions.delete(key);
    await sessions.append(key, [entry]);
    expect(await sessions.load(key)).toEqual([entry]);
  });

  test.for([
    ['of equal length', 2],
    ['that is longer', 3],
    ['that is shorter', 1],
  ] as const)(
    'append: after another process deleted the session and wrote one %s, every entry is kept',
    async ([, length]) => {
      const { store, sessions, key } = await setUp();
      const [a, b, e] = [line('a'), line('b'), line('e')];
      const rewritten = Array.from({ length }, (_, i) => line(`new ${i}`));
      await sessions.append(key, [a, b]);
      const other = claudeSessionStore(store, { foldSessionSummary });
      await other.delete(key);
      await other.append(key, rewritten);
      await sessions.append(key, [a]);
      await sessions.append(key, [e, b, a]);
      expect(await sessions.load(key)).toEqual([...rewritten, a, e, b]);
      const [summary] = await sessions.listSessionSummaries(PROJECT);
      expect(summary?.data).toMatchObject({ firstPrompt: 'new 0' });
    },
  );

  test('append: a session that is deleted and written again between two steps of an append keeps its entries', async () => {
    const { store, key } = await setUp();
    const [a, b, c, d] = [line('a'), line('b'), line('c'), line('d')];
    let rewrite: (() => Promise<void>) | undefined;
    const slow: Store = Object.create(store, {
      append: {
        value: async (...args: Parameters<Store['append']>) => {
          await rewrite?.();
          rewrite = undefined;
          return store.append(...args);
        },
      },
    });
    const sessions = claudeSessionStore(slow, { foldSessionSummary });
    await sessions.append(key, [a, b]);
    rewrite = async () => {
      const other = claudeSessionStore(store, { foldSessionSummary });
      await other.delete(key);
      await other.append(key, [c, d]);
    };
    const e = line('e');
    await sessions.append(key, [a, e]);
    const loaded = (await sessions.load(key)) ?? [];
    expect(loaded.map(({ uuid }) => uuid).toSorted()).toEqual([a, c, d, e].map(({ uuid }) => uuid).toSorted());
  });

  test('append: a value that is not a text is not a uuid: such entries are never deduplicated', async () => {
    const { sessions, key } = await setUp();
    for (const uuid of [null, 7, '']) {
      const entry = { type: 'mode', uuid } as unknown as ClaudeTranscriptEntry;
      await sessions.append(key, [entry, entry]);
      await sessions.append(key, [entry]);
    }
    expect(await sessions.load(key)).toHaveLength(9);
  });

  const HOSTILE: readonly (readonly [string, unknown])[] = [
    ['a lone surrogate', 'a\ud800'],
    ['no text', 7],
    ['null', null],
    ['empty', ''],
    ['too long', 'x'.repeat(600)],
    ['too long once escaped', '\u4e2d'.repeat(100)],
  ];
  test.for(HOSTILE)('an id that is %s is rejected with a typed error', async ([, value]) => {
    const { sessions, key } = await setUp();
    const id = value as string;
    const refused = (work: Promise<unknown>): Promise<void> =>
      expect(work).rejects.toMatchObject({ name: 'HoldfastError', code: 'INVALID_ARGUMENT' });
    for (const one of [
      { ...key, sessionId: id },
      { ...key, subpath: id },
    ]) {
      await refused(sessions.append(one, [line('b')]));
      await refused(sessions.load(one));
      await refused(sessions.delete(one));
    }
    await refused(sessions.listSubkeys({ ...key, sessionId: id }));
    expect(await sessions.listSessions(PROJECT)).toEqual([]);
  });

  test('any other id names its own session, with any characters', async () => {
    const { sessions } = await setUp();
    const ids = ['a\0b', '../..', 'a/b', '%2e', 'a b', '\u{1f600}', 'a%'];
    for (const sessionId of ids) {
      const key = { projectKey: PROJECT, sessionId };
      await sessions.append(key, [line(sessionId)]);
      await sessions.append({ ...key, subpath: sessionId }, [line('sub')]);
      expect(await sessions.load(key)).toHaveLength(1);
      expect(await sessions.listSubkeys(key)).toEqual([sessionId]);
    }
    expect((await sessions.listSessions(PROJECT)).map(({ sessionId }) => sessionId).toSorted()).toEqual(ids.toSorted());
  });

  test('listings omit logs that only look like sessions of the SDK', async () => {
    const { store, sessions, key } = await setUp();
    await sessions.append(key, [line('a')]);
    const at = '2026-01-01T00:00:00.000Z';
    const described = { type: 'session/described', at, metadata: { [`project:${PROJECT}`]: true, summary: {} } };
    for (const id of ['claude:%E0%A4%A', `claude:${key.sessionId}/%zz`]) {
      await store.append(id, [described], { id, expectedSeq: 0 });
    }
    expect((await sessions.listSessions(PROJECT)).map(({ sessionId }) => sessionId)).toEqual([key.sessionId]);
    expect((await sessions.listSessionSummaries(PROJECT)).map(({ sessionId }) => sessionId)).toEqual([key.sessionId]);
    expect(await sessions.listSubkeys(key)).toEqual([]);
  });

  test("the SDK's own helpers work on it: import, list, read, fork, rename, delete", async () => {
    const { sessions } = await setUp();
    const config = temporaryDirectory('config');
    const directory = temporaryDirectory('project');
    const sessionId = randomUUID();
    const slug = directory.replace(/[^a-zA-Z0-9]/g, '-');
    mkdirSync(join(config, 'projects', slug, sessionId, 'subagents'), { recursive: true });
    const shared = { sessionId, cwd: directory, version: '2.1.325', isSidechain: false, userType: 'external' };
    const first = line('find the bug', { ...shared, parentUuid: null });
    const second = {
      ...line('found', { ...shared, parentUuid: first.uuid }),
      type: 'assistant',
      message: { id: 'msg_1', role: 'assistant', model: 'm', content: [{ type: 'text', text: 'found' }] },
    };
    const text = (lines: readonly unknown[]): string => lines.map((one) => `${JSON.stringify(one)}\n`).join('');
    writeFileSync(join(config, 'projects', slug, `${sessionId}.jsonl`), text([first, second]));
    writeFileSync(
      join(config, 'projects', slug, sessionId, 'subagents', 'agent-x1.jsonl'),
      text([line('sub', { ...shared, isSidechain: true, agentId: 'x1', parentUuid: null })]),
    );
    const before = process.env.CLAUDE_CONFIG_DIR;
    process.env.CLAUDE_CONFIG_DIR = config;
    try {
      const options = { dir: directory, sessionStore: sessions };
      await sdk.importSessionToStore(sessionId, sessions, { dir: directory });
      await sdk.importSessionToStore(sessionId, sessions, { dir: directory, batchSize: 1 });
      const read = await sdk.getSessionMessages(sessionId, options);
      expect(read.map(({ uuid }) => uuid)).toEqual([first.uuid, second.uuid]);
      expect((await sdk.listSessions(options)).map((info) => [info.sessionId, info.firstPrompt])).toEqual([
        [sessionId, 'find the bug'],
      ]);
      expect(await sdk.listSubagents(sessionId, options)).toEqual(['x1']);
      const fork = await sdk.forkSession(sessionId, options);
      expect((await sdk.getSessionMessages(fork.sessionId, options)).map(({ type }) => type)).toEqual([
        'user',
        'assistant',
      ]);
      await sdk.renameSession(sessionId, 'The bug', options);
      expect(await sdk.getSessionInfo(sessionId, options)).toMatchObject({ customTitle: 'The bug' });
      await sdk.deleteSession(sessionId, options);
      expect((await sdk.listSessions(options)).map((info) => info.sessionId)).toEqual([fork.sessionId]);
    } finally {
      if (before === undefined) delete process.env.CLAUDE_CONFIG_DIR;
      else process.env.CLAUDE_CONFIG_DIR = before;
    }
  });
});
