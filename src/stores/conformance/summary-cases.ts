import assert from 'node:assert/strict';
import type { NewEvent, SessionEvent } from '../../core/log/events.ts';
import type { Usage } from '../../core/log/usage.ts';
import { type SessionSummary, summarizeSession } from '../../core/summary/session-summary.ts';
import type { SessionInfo, Store } from '../../ports/store.ts';
import { everyEvent } from './every-event.ts';
import { type Case, message, note, readAll, response } from './harness.ts';

const AT = '2026-01-01T00:00:00.000Z';

async function listed(store: Store, id: string): Promise<SessionInfo> {
  const { sessions } = await store.listSessions({ idPrefix: id });
  return sessions.find((session) => session.id === id) ?? assert.fail(`${id} is not listed`);
}

async function spent(store: Store, id: string): Promise<Pick<SessionSummary, 'turns' | 'usage'>> {
  const { turns, usage } = await listed(store, id);
  return { ...(turns !== undefined && { turns }), ...(usage && { usage }) };
}

/** Expects that a session is listed with what its log folds to. */
async function assertFolded(store: Store, id: string): Promise<void> {
  const log = await readAll(store, id);
  const summary = log.reduce<SessionSummary | undefined>(summarizeSession, undefined);
  const { id: _, seq: __, updatedAt: ___, lease: ____, ...shown } = await listed(store, id);
  // As JSON: the fold computes some fields when they are read.
  assert.deepEqual(JSON.parse(JSON.stringify(shown)), JSON.parse(JSON.stringify(summary)));
}

function summarized(usage: Usage): NewEvent {
  return { type: 'history/summarized', at: AT, evaluationId: 'e1', key: 'k', text: 'short', usage };
}

/** What a listing shows of a session is what its log adds up to. */
export const summaryCases: readonly Case[] = [
  {
    name: 'a listed session shows what its log folds to, for events of every type and after each of them',
    async check({ store }) {
      for (const [i, event] of everyEvent.entries()) {
        await store.append('one by one', [event], { id: `${i}`, expectedSeq: i });
        await assertFolded(store, 'one by one');
      }
      await store.append('at once', everyEvent, { id: 'a', expectedSeq: 0 });
      await assertFolded(store, 'at once');
      await store.forkSession('at once', 'fork', { at: everyEvent.length - 1, events: [note('end')] });
      await assertFolded(store, 'fork');
    },
  },
  {
    name: 'a listed session adds up the turns and the usage of its responses, over all appends of all handles',
    async check({ store, reopen }) {
      const handles = [store, (await reopen?.()) ?? store];
      await store.append('s', [message('hello'), response({ inputTokens: 100, outputTokens: 10 })], {
        id: 'a',
        expectedSeq: 0,
      });
      assert.deepEqual(await spent(store, 's'), { turns: 1, usage: { inputTokens: 100, outputTokens: 10 } });
      for (const [i, handle] of [...handles, ...handles].entries()) {
        const usage = { inputTokens: 1, outputTokens: 2, reasoningTokens: 3, costUsd: 0.25 };
        await handle.append('s', [response(usage)], { id: `b${i}`, expectedSeq: 2 + i });
      }
      await store.append('s', [summarized({ inputTokens: 1000, outputTokens: 1 }), response(undefined)], {
        id: 'c',
        expectedSeq: 6,
      });
      const usage = { inputTokens: 1104, outputTokens: 19, reasoningTokens: 12, costUsd: 1 };
      for (const handle of handles) assert.deepEqual(await spent(handle, 's'), { turns: 6, usage });
      const ids = Array.from({ length: 8 }, (_, i) => `many ${i}`);
      await Promise.all(
        ids.map((id, i) =>
          store.append(id, [response({ inputTokens: i, outputTokens: 1 })], { id: 'a', expectedSeq: 0 }),
        ),
      );
      for (const [i, id] of ids.entries()) {
        assert.deepEqual(await spent(store, id), { turns: 1, usage: { inputTokens: i, outputTokens: 1 } });
      }
    },
  },
  {
    name: 'a fork adds up the usage of the responses that it has, and its origin keeps its own',
    async check({ store }) {
      const log = [1, 2, 4].map((inputTokens) => response({ inputTokens, outputTokens: 1 }));
      await store.append('s', log, { id: 'a', expectedSeq: 0 });
      await store.forkSession('s', 'fork', { at: 2, events: [note('end')] });
      assert.deepEqual(await spent(store, 'fork'), { turns: 2, usage: { inputTokens: 3, outputTokens: 2 } });
      await store.append('fork', [response({ inputTokens: 8, outputTokens: 1 })], { id: 'b', expectedSeq: 3 });
      assert.deepEqual(await spent(store, 'fork'), { turns: 3, usage: { inputTokens: 11, outputTokens: 3 } });
      assert.deepEqual(await spent(store, 's'), { turns: 3, usage: { inputTokens: 7, outputTokens: 3 } });
    },
  },
  {
    name: 'after a response was replaced, its session adds up the usage of the changed log (D58)',
    async check({ store, reopen }) {
      const handles = [store, (await reopen?.()) ?? store];
      const log = [1, 2, 4].map((inputTokens) => response({ inputTokens, outputTokens: 1 }));
      await store.append('s', log, { id: 'a', expectedSeq: 0 });
      const replace = (event: NewEvent, seq: number) => store.replaceEvent('s', { ...event, seq } as SessionEvent);
      await replace(response({ inputTokens: 2, outputTokens: 1 }, 'erased'), 2);
      assert.deepEqual(await spent(store, 's'), { turns: 3, usage: { inputTokens: 7, outputTokens: 3 } });
      await replace(response({ inputTokens: 20, outputTokens: 1 }), 2);
      assert.deepEqual(await spent(store, 's'), { turns: 3, usage: { inputTokens: 25, outputTokens: 3 } });
      await replace(response(undefined), 1);
      await replace(note('erased'), 3);
      assert.deepEqual(await spent(store, 's'), { turns: 2, usage: { inputTokens: 20, outputTokens: 1 } });
      // Neither the handle that wrote last nor another one may restore what was replaced.
      for (const [i, handle] of handles.entries()) {
        await handle.append('s', [response({ inputTokens: 1, outputTokens: 1 })], { id: `b${i}`, expectedSeq: 3 + i });
      }
      assert.deepEqual(await spent(store, 's'), { turns: 4, usage: { inputTokens: 22, outputTokens: 3 } });
    },
  },
  {
    name: 'changing an event after its append does not change the listing',
    async check({ store }) {
      const usage = { inputTokens: 1, outputTokens: 1 };
      const tags = ['x'];
      const appends = ['a', 'b', 'c'].map((id) =>
        store.append(id, [response(usage), { type: 'session/described', at: AT, tags }], { id: 'a', expectedSeq: 0 }),
      );
      usage.inputTokens = 99;
      tags.push('y');
      await Promise.all(appends);
      for (const id of ['a', 'b', 'c']) {
        assert.deepEqual(await spent(store, id), { turns: 1, usage: { inputTokens: 1, outputTokens: 1 } });
        assert.deepEqual((await listed(store, id)).tags, ['x']);
      }
    },
  },
];
