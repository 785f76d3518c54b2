/** Checks a database after processes that used it were killed and stopped. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { memoryStore, openSession, type SessionEvent, type Store, textOf } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { ACTING_CALLS, ERASED_TURN, erasable, ONCE_TOOLS, runAgent } from './agent.ts';
import { normalized } from './normalized.ts';
import { type Effects, effectsIn } from './outside.ts';

/** The result of an undisturbed run. */
export async function undisturbed(): Promise<readonly unknown[]> {
  const session = await openSession({ store: memoryStore(), id: 'undisturbed' });
  const outside = { act: () => {}, hasActed: () => false };
  let response = await runAgent(session, outside);
  for (; response.status === 'suspended'; response = await runAgent(session, outside)) {
    for (const call of response.pending) await session.approve(call, { by: 'the approver' });
  }
  const message = erasable(session);
  if (message) await session.eraseMessage(message.id);
  return normalized(session);
}

export interface Verdict {
  readonly wrong: readonly string[];
  readonly resumes: number;
  readonly effects: number;
  readonly late: number;
  readonly forks: number;
  readonly backups: number;
}

/** Checks everything that a round left. `lines` are the acknowledgements that its processes printed. */
export async function verify(
  directory: string,
  sessions: readonly string[],
  lines: readonly string[],
  expected: readonly unknown[],
): Promise<Verdict> {
  const wrong: string[] = [];
  const store = await sqliteStore(join(directory, 'agent.db'));
  try {
    const effects = effectsIn(join(directory, 'effects.log'));
    let resumes = 0;
    for (const id of sessions) {
      const log = await readLog(store, id);
      resumes += log.filter(({ type }) => type === 'evaluation/resumed').length;
      wrong.push(...(await sessionProblems(store, id, expected)), ...effectProblems(id, effects));
    }
    const words = lines.map((line) => line.split(' '));
    for (const [, id = ''] of words.filter(([verb]) => verb === 'deleted')) wrong.push(...(await remains(store, id)));
    wrong.push(...(await noteProblems(store, words)));
    const forks = (await ids(store)).filter((id) => id.startsWith('fork-'));
    for (const id of forks) wrong.push(...(await forkProblems(store, id)));
    for (const [, id = ''] of words.filter(([verb]) => verb === 'forked')) {
      if (!forks.includes(id)) wrong.push(`${id} was forked and is not there`);
    }
    if (
      (await store.search('hunter2')).some(({ sessionId }) =>
        words.some(([verb, id]) => verb === 'deleted' && id === sessionId),
      )
    ) {
      wrong.push('a search finds what was deleted');
    }
    const { ok, problems } = await store.check();
    if (!ok) wrong.push(...problems.map((problem) => `check: ${problem}`));
    const backups = readdirSync(directory).filter((file) => /^backup-.*\.db$/.test(file));
    for (const [, file = ''] of words.filter(([verb]) => verb === 'backup')) {
      if (!backups.includes(file)) wrong.push(`${file} was acknowledged and is not there`);
    }
    for (const file of backups) wrong.push(...(await backupProblems(directory, file, words)));
    const { late, lines: written } = effects;
    return { wrong, resumes, effects: written, late, forks: forks.length, backups: backups.length };
  } finally {
    await store.close();
  }
}

async function sessionProblems(store: Store, id: string, expected: readonly unknown[]): Promise<readonly string[]> {
  const session = await openSession({ store, id });
  const found: string[] = [];
  const got = normalized(session);
  if (!isDeepStrictEqual(got, expected)) {
    const more = got.filter((one) => !expected.includes(one));
    const less = expected.filter((one) => !got.includes(one));
    found.push(`${id} came to ${JSON.stringify(more)} instead of ${JSON.stringify(less)}`);
  }
  const response = session.messages().find(({ role, turn }) => role === 'assistant' && turn === ERASED_TURN);
  if (!response || textOf(response) !== '[erased]') found.push(`${id} was not erased`);
  if (JSON.stringify(await readLog(store, id)).includes('This is erased.')) {
    // An interrupted draft keeps its text: it has no message that could be erased.
    const holders = (await readLog(store, id)).filter((event) => JSON.stringify(event).includes('This is erased.'));
    if (holders.some(({ type }) => type !== 'message/interrupted')) found.push(`${id} still holds erased text`);
  }
  await session.close();
  return found;
}

function effectProblems(id: string, { acted }: Effects): readonly string[] {
  const found: string[] = [];
  const own = [...acted].filter(([key]) => key.startsWith(`${id}/`));
  for (const [tool, count] of Object.entries(ACTING_CALLS)) {
    const calls = own.filter(([, call]) => call.tool === tool).length;
    if (calls !== count) found.push(`${calls} calls of ${tool} in ${id} acted, not ${count}`);
  }
  for (const [key, { tool, attempts }] of own) {
    if (ONCE_TOOLS.includes(tool) && attempts.length !== 1) found.push(`${tool} ${key} acted in attempts ${attempts}`);
  }
  return found;
}

async function noteProblems(store: Store, words: readonly (readonly string[])[]): Promise<readonly string[]> {
  const found: string[] = [];
  const last = new Map<string, number>();
  for (const [verb, id = '', seq] of words)
    if (verb === 'noted') last.set(id, Math.max(last.get(id) ?? 0, Number(seq)));
  for (const [id, seq] of last) {
    const log = await readLog(store, id);
    if (log.length < seq) found.push(`${id} has ${log.length} of ${seq} acknowledged events`);
    if (log.some((event, i) => (event as { text?: unknown }).text !== `note ${i + 1}`)) found.push(`${id} has a gap`);
  }
  return found;
}

async function remains(store: Store, id: string): Promise<readonly string[]> {
  const { seq } = await store.head(id);
  return seq > 0 || (await ids(store)).includes(id) ? [`${id} was deleted and is still there`] : [];
}

async function forkProblems(store: Store, id: string): Promise<readonly string[]> {
  const log = await readLog(store, id);
  const forked = log.find((event) => event.type === 'session/forked') as
    | (SessionEvent & { readonly origin: { readonly sessionId: string; readonly seq: number } })
    | undefined;
  if (!forked) return [`${id} does not say what it is a fork of`];
  const { sessionId, seq } = forked.origin;
  if (forked.seq !== seq + 1) return [`${id} holds ${forked.seq - 1} of ${seq} events`];
  const origin = await readLog(store, sessionId);
  const found: string[] = [];
  for (const event of log.slice(0, seq)) {
    const before = origin[event.seq - 1];
    const wasErased = JSON.stringify(before).includes('[erased]');
    if (!wasErased && !isDeepStrictEqual(event, before)) found.push(`event ${event.seq} of ${id} differs`);
  }
  const session = await openSession({ store, id });
  if (session.messages().length === 0 && seq > 2) found.push(`${id} has no messages`);
  await session.close();
  return found;
}

async function backupProblems(
  directory: string,
  file: string,
  words: readonly (readonly string[])[],
): Promise<readonly string[]> {
  const store = await sqliteStore(join(directory, file));
  try {
    const { ok, problems } = await store.check();
    const found = ok ? [] : problems.map((problem) => `${file}: ${problem}`);
    const [, , id = '', seq] = words.find(([verb, name]) => verb === 'begins' && name === file) ?? [];
    if ((await store.head(id)).seq < Number(seq)) found.push(`${file} lacks events that were there when it began`);
    return found;
  } finally {
    await store.close();
  }
}

async function ids(store: Store): Promise<readonly string[]> {
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.listSessions({ limit: 500, ...(cursor !== undefined && { cursor }) });
    found.push(...page.sessions.map(({ id }) => id));
    cursor = page.next;
  } while (cursor !== undefined);
  return found;
}

async function readLog(store: Store, id: string): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of store.read(id)) events.push(event);
  return events;
}
