import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { NewEvent, SessionEvent } from '../../../../src/core/log/events.ts';
import type { SessionInfo, Store } from '../../../../src/ports/store.ts';

export const FIXTURES: string = join(import.meta.dirname, '..', '..', '..', 'fixtures', 'databases');

interface Expected {
  readonly sessions: readonly SessionInfo[];
  readonly work: readonly string[];
  readonly check: object;
}

const LATER = '2026-03-01T00:00:00.000Z';
const event = (type: string, fields: object): NewEvent => ({ type, at: LATER, ...fields }) as NewEvent;
const evaluation = (what: string): NewEvent => event(`evaluation/${what}`, { evaluationId: 'e' });
const response = event('message/recorded', {
  message: { role: 'assistant', turn: 1, evaluationId: 'e', content: [] },
  usage: { inputTokens: 1, outputTokens: 2 },
});

async function listed(store: Store): Promise<ReadonlyMap<string, SessionInfo>> {
  const { sessions } = await store.listSessions({ limit: 100 });
  return new Map(sessions.map(({ lease: _, ...session }) => [session.id, session]));
}

async function append(store: Store, id: string, ...events: readonly NewEvent[]): Promise<void> {
  const { seq: expectedSeq, incarnation } = await store.head(id);
  await store.append(id, events, { id: `later-${expectedSeq}`, expectedSeq, incarnation });
}

/** Expects everything that the version which wrote a fixture listed, then continues sessions and erases in them, with two handles. */
export async function continueSessions(fixture: string, store: Store, open: () => Promise<Store>): Promise<void> {
  const text = readFileSync(join(FIXTURES, fixture, 'expected.json'), 'utf8');
  const { sessions, work, check } = JSON.parse(text) as Expected;
  expect([...(await listed(store)).values()]).toEqual(sessions);
  expect((await store.listSessions({ work: true })).sessions.map(({ id }) => id)).toEqual(work);
  expect((await store.listSessions({ status: 'failed' })).sessions.map(({ id }) => id)).toEqual(['failed']);
  expect(await store.check()).toMatchObject(check);
  expect(await store.readDraft('running')).toMatchObject([{ draftId: 'e', delta: 'half a' }]);
  expect(await store.readSnapshot('completed')).toEqual({ seq: 3, data: '{"seq":3}' });
  expect(await store.readContent('contents', 'sha256:log')).toBe('page \u0000 \ud83d');
  expect(await store.readCallContent('contents', 'a')).toBe('exact');
  expect(await store.head('gone')).toEqual({ incarnation: 2, seq: 0, revision: 0 });
  expect((await store.search?.('harbour', { limit: 100 }))?.map(({ sessionId }) => sessionId)).toContain('completed');

  await append(store, 'decided', evaluation('resumed'), response, evaluation('completed'));
  await append(store, 'queued', event('message/recorded', { message: { role: 'user', turn: 0 }, inputId: 'first' }));
  await append(store, 'imported', event('source/recorded', { file: 'f0', generation: 1, offset: 500, bytes: 5 }));
  await append(store, 'fork', response);
  const title = { ...event('session/described', { tags: ['erased'] }), seq: 1 } as SessionEvent;
  await store.replaceEvent('completed', title);
  const other = await open();
  await append(other, 'erased', event('session/described', { tags: ['later'] }));
  await append(store, 'completed', response);
  for (const handle of [store, other, await open()]) {
    const now = await listed(handle);
    expect(now.get('decided')).toMatchObject({ status: 'completed', turns: 1 });
    expect(now.get('decided')).not.toHaveProperty('work');
    expect(now.get('queued')).toMatchObject({ queued: 1, work: 'input' });
    expect(now.get('imported')?.source?.files.f0).toMatchObject({ end: 505 });
    expect(now.get('fork')).toMatchObject({ turns: 2, usage: { inputTokens: 101, outputTokens: 12 } });
    expect(now.get('completed')).toMatchObject({ tags: ['erased'], metadata: {}, turns: 2 });
    expect(now.get('completed')).not.toHaveProperty('title');
    expect(now.get('erased')).toMatchObject({ tags: ['later'], metadata: { erased: true } });
    expect(now.get('erased')).not.toHaveProperty('title');
    const withWork = (await handle.listSessions({ work: true })).sessions.map(({ id }) => id);
    expect(new Set(withWork)).toEqual(new Set(work.filter((id) => id !== 'decided')));
  }
  expect(await store.readSnapshot('completed')).toBeUndefined();
  expect((await store.check()).problems).toEqual([]);
}
