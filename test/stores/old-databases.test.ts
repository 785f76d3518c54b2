/**
 * Databases of earlier versions (test/fixtures/databases) open, are migrated without loss, and their sessions resume with nothing run
 * twice.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type SessionSummary, summarizeSession } from '../../src/core/summary/session-summary.ts';
import { LAYOUT_VERSION } from '../../src/stores/sqlite/connection/migrate.ts';
import { type BundledScript, bundleScript } from '../support/bundle.ts';
import { LARGE_TEXT, ODD_SESSION, steps } from './support/old-databases/agents.ts';
import { copyOf, expectedOf, type Resumable, resumable, textIn } from './support/old-databases/fixture-copy.ts';
import { killOpening, type Moment } from './support/old-databases/kill-opening.ts';
import { listSearches, listSessions } from './support/old-databases/store-listing.ts';
import { note, openStore, readAll } from './support/temporary.ts';

/** What is left to do in a session, and the expected result. */
interface Left {
  readonly id: string;
  /** Tool, path, attempt and isResume of every call that runs. */
  readonly runs: readonly string[];
  /** Prompt and turn of every request. */
  readonly asks: readonly string[];
  /** Texts that the last request contains. */
  readonly sees?: string;
  readonly text: string;
}

const LEFT: readonly Left[] = [
  {
    id: 'approval-approved',
    runs: ['release b 1 false'],
    asks: ['work 2'],
    sees: 'release b done',
    text: 'The release was decided.',
  },
  {
    id: 'approval-denied',
    runs: [],
    asks: ['work 2'],
    sees: 'not on a Friday',
    text: 'The release was decided.',
  },
  { id: 'draft', runs: ['write b 1 false'], asks: ['work 2', 'work 3'], text: 'Both files are written.' },
  { id: 'contents-kept', runs: [], asks: [], text: 'The log is read.' },
  { id: 'contents-open', runs: ['write copy 2 true'], asks: ['work 3'], sees: LARGE_TEXT, text: 'The log is copied.' },
  { id: 'steps', runs: ['step c 2 true'], asks: ['work 3'], sees: 'now 6 steps', text: 'The steps are taken.' },
  { id: 'steps-fork', runs: [], asks: ['work 3'], sees: 'was forked', text: 'The steps are taken.' },
  {
    id: 'child',
    runs: ['write map 2 true'],
    asks: ['child 3', 'work 2'],
    sees: 'The reef is on the map.',
    text: 'The reef is known.',
  },
  { id: 'settled', runs: [], asks: ['work 2'], sees: 'pay a was found in the books', text: 'It is paid.' },
  { id: 'provider-failed', runs: [], asks: ['work 2'], sees: 'write a done', text: 'The provider responds again.' },
  { id: 'chat', runs: [], asks: [], text: 'Understood.' },
  { id: ODD_SESSION, runs: [], asks: [], text: 'The beacon is lit.' },
];

const KILLS = 15;

let opener: BundledScript;
beforeAll(async () => {
  opener = await bundleScript(join(import.meta.dirname, 'support', 'old-databases', 'opener.ts'));
});
afterAll(() => opener.remove());

describe.for(['layout-1', 'layout-2'])('the database %s', (fixture) => {
  const expected = expectedOf(fixture);

  async function expectSameContents(path: string): Promise<void> {
    const store = await openStore(path);
    expect(await store.check()).toMatchObject({ ok: true, problems: [] });
    expect(await listSessions(store)).toEqual(expected.sessions);
    await store.close();
  }

  /** Expects that recorded events are unchanged, no call with a result ran again, and a repeated call had its first key (I1, I2). */
  async function expectNothingTwice({ store, session, effects }: Resumable): Promise<void> {
    const before = expected.sessions[session.id];
    const log = await readAll(store, session.id);
    expect(log.slice(0, before?.events.length)).toEqual(before?.events);
    const finished = before?.messages.flatMap(({ evaluationId, turn, toolCallId }) =>
      toolCallId === undefined ? [] : [`${session.id}/${evaluationId}/${turn}/${toolCallId}`],
    );
    const keys = effects().map(keyOf);
    expect(keys.filter((key) => finished?.includes(key))).toEqual([]);
    const again = effects().filter((line) => line.endsWith(' true'));
    const known = expected.effects.map(keyOf);
    expect(again.map(keyOf).filter((key) => !known.includes(key))).toEqual([]);
    expect(await store.check()).toMatchObject({ ok: true, problems: [] });
  }

  test('contains the events, messages, contents, drafts, leases, snapshots and slices that it was written with', () =>
    expectSameContents(copyOf(fixture)));

  test('lists each session with the summary and the work that its log folds to', async () => {
    const store = await openStore(copyOf(fixture));
    const { sessions } = await store.listSessions({ limit: 1000 });
    const working: string[] = [];
    for (const { id, seq: _, updatedAt: __, lease: ___, ...listed } of sessions) {
      const folded = (await readAll(store, id)).reduce<SessionSummary | undefined>(summarizeSession, undefined);
      expect(listed, id).toEqual(folded);
      if (folded?.work !== undefined) working.push(id);
    }
    expect(working.length).toBeGreaterThan(2);
    const found = await store.listSessions({ limit: 1000, work: true });
    expect(found.sessions.map(({ id }) => id).toSorted()).toEqual(working.toSorted());
  });

  test('search finds the hits that it was written with, with and without an index', async () => {
    const store = await openStore(copyOf(fixture), { backgroundIndexing: false });
    expect(await listSearches(store)).toEqual(expected.searches);
    expect(await listSearches(store)).toEqual(expected.searches);
  });

  test.for(LEFT)('session $id resumes to its end and runs only calls without a result (I2)', async (left) => {
    const resuming = await resumable(fixture, left.id);
    const { session, store, requests, effects, resume } = resuming;
    expect(await resume()).toMatchObject({ status: 'completed', text: left.text });
    expect(effects().map(actOf)).toEqual(left.runs);
    expect(requests.map(({ prompt, turn }) => `${prompt.key} ${turn}`)).toEqual(left.asks);
    if (left.sees !== undefined) expect(textIn(requests.at(-1))).toContain(left.sees);
    expect(await store.readLease(session.id)).toBeUndefined();
    await expectNothingTwice(resuming);
    expect(await resume()).toMatchObject({ status: 'completed', text: left.text });
    expect(effects()).toHaveLength(left.runs.length);
  });

  test.for([
    ['its result', { result: 'pay d was found in the books' }, 'pay d was found in the books', []],
    ['a permitted re-run', { rerun: true }, 'pay d done', ['pay d 2 true']],
  ] as const)(
    'a started once call suspends with TOOL_OUTCOME_UNKNOWN after its siblings ran, and %s settles it (D18)',
    async ([, how, seen, runs]) => {
      const resuming = await resumable(fixture, 'open-calls');
      const { session, requests, effects, resume } = resuming;
      const suspended = await resume();
      expect(suspended).toMatchObject({ status: 'suspended', reason: 'TOOL_OUTCOME_UNKNOWN' });
      expect(suspended.pending).toMatchObject([{ turn: 1, callId: 'call_1_4' }]);
      expect(effects().map(actOf).toSorted()).toEqual(['look e 1 false', 'write c 2 true']);
      for (const call of suspended.pending) await session.settle(call, how);
      expect(await resume()).toMatchObject({ status: 'completed', text: 'Five calls are done.' });
      expect(effects().map(actOf).slice(2)).toEqual(runs);
      expect(requests.map(({ turn }) => turn)).toEqual([2]);
      expect(textIn(requests[0])).toContain(seen);
      await expectNothingTwice(resuming);
    },
  );

  test('a call that waits for approval runs once when it is approved, and not before', async () => {
    const resuming = await resumable(fixture, 'approval-pending');
    const { session, requests, effects, resume } = resuming;
    const suspended = await resume();
    expect(suspended).toMatchObject({ status: 'suspended', reason: 'APPROVAL_REQUIRED' });
    expect(effects()).toEqual([]);
    expect(requests).toEqual([]);
    for (const call of suspended.pending) await session.approve(call);
    expect(await resume()).toMatchObject({ status: 'completed', text: 'The release was decided.' });
    expect(effects().map(actOf)).toEqual(['release b 1 false']);
    await expectNothingTwice(resuming);
  });

  test('a draft becomes an interrupted message, block by block, and is deleted (D53)', async () => {
    const { session, store, resume } = await resumable(fixture, 'draft');
    const blocks = new Map<string, Record<string, unknown>>();
    const drafts = Object.values(expected.sessions.draft?.drafts ?? {});
    for (const { turn: _, attempt: __, delta, blockId, ...kind } of drafts.flat()) {
      blocks.set(blockId, { blockId, ...kind, text: `${blocks.get(blockId)?.text ?? ''}${delta}` });
    }
    expect(blocks.size).toBe(3);
    const { evaluationId } = await resume();
    const interrupted = (await readAll(store, session.id)).filter(({ type }) => type === 'message/interrupted');
    expect(interrupted).toMatchObject([{ turn: 2, attempt: 1, blocks: [...blocks.values()] }]);
    expect(await store.readDraft(session.id, { draftId: evaluationId })).toEqual([]);
  });

  test('a slice folds the events before the snapshot, after it and of the resumed call', async () => {
    const { session, resume } = await resumable(fixture, 'steps');
    await resume();
    expect(session.select(steps).all()).toEqual(['first', 'second', 'third', 'a', 'b', 'c']);
  });

  test('a chat continues with the messages of all its evaluations (D50)', async () => {
    const { requests, continueWith } = await resumable(fixture, 'chat');
    await continueWith('And on deck three?');
    for (const said of ['Hello, harbour.', 'What is on deck one?', 'And on deck two?', 'And on deck three?']) {
      expect(textIn(requests[0])).toContain(said);
    }
  });

  test('a content that two sessions refer to outlives one of them (D58)', async () => {
    const { store, requests, resume } = await resumable(fixture, 'contents-open');
    expect(await store.deleteSession('contents-kept')).toBe(true);
    await resume();
    expect(textIn(requests[0])).toContain(LARGE_TEXT);
    expect(await store.check()).toMatchObject({ ok: true, problems: [] });
  });

  test('the fence of a killed process is rejected once its lease was taken over (I6)', async () => {
    const { session, store, resume } = await resumable(fixture, 'draft');
    const fence = expected.sessions.draft?.lease?.fence ?? 0;
    await resume();
    const stale = store.append(session.id, [note('late')], { id: 'late', expectedSeq: session.seq, fence });
    await expect(stale).rejects.toMatchObject({ code: 'SESSION_CONFLICT', detail: 'fence' });
  });

  test(`is unchanged when processes that open it are killed at ${KILLS} moments, twice each (I1)`, async () => {
    // Measured on the second of two openings: the first one has cold caches.
    const open = () => killOpening(opener.path, copyOf(fixture), {});
    await open();
    const whole = await open();
    let early = 0;
    for (let i = 0; i < KILLS; i++) {
      const path = copyOf(fixture);
      for (const moment of [momentOf(whole, i), momentOf(whole, KILLS - 1 - i)]) {
        const { opened } = await killOpening(opener.path, path, moment);
        if (!opened) early++;
      }
      await expectSameContents(path);
    }
    expect(early).toBeGreaterThan(0);
  });

  test('is unchanged when the write-ahead log of its migration ends after any page (I1)', async () => {
    // Covers each state that a kill can leave, built from the log of a complete opening.
    const opened = copyOf(fixture);
    const untouched = readFileSync(opened);
    await killOpening(opener.path, opened, {});
    expect(readFileSync(opened).equals(untouched), 'the opening must not move its log into the database').toBe(true);
    const log = existsSync(`${opened}-wal`) ? readFileSync(`${opened}-wal`) : Buffer.alloc(0);
    for (let length = LOG_HEADER; length <= log.length; length += FRAME_HEADER + PAGE) {
      const path = copyOf(fixture);
      writeFileSync(`${path}-wal`, log.subarray(0, length));
      await expectSameContents(path);
    }
    if (fixture !== `layout-${LAYOUT_VERSION}`) expect(log.length).toBeGreaterThan(LOG_HEADER);
  });
});

/** Sizes of the file format of SQLite's write-ahead log. */
const LOG_HEADER = 32;
const FRAME_HEADER = 24;
const PAGE = 4096;

/** Every second kill follows a change of the files, the others are spread over the duration of an opening. */
function momentOf({ changes, ms }: { readonly changes: number; readonly ms: number }, i: number): Moment {
  return i % 2 === 0 ? { changes: 1 + ((i / 2) % Math.max(1, changes)) } : { ms: (ms * i) / KILLS };
}

/** The idempotency key of a line of effects; a session's id may contain spaces. */
function keyOf(line: string): string {
  return line.split(' ').slice(0, -4).join(' ');
}

/** Tool, path, attempt and isResume of a line of effects. */
function actOf(line: string): string {
  return line.split(' ').slice(-4).join(' ');
}
