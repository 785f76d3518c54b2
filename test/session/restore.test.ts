import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SessionInput } from '../../src/core/fold/session-inputs.ts';
import { type AnySlice, appendAll, defineSlice, type Slice } from '../../src/core/fold/slices.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { arbitraryDrafts, SLICES } from '../core/arbitraries.ts';
import { answer, messageOf, plain, started, user } from '../core/log.ts';
import { appendDraft, logIn, rejection } from './log-of.ts';
import { STORES } from './stores.ts';

const adds = (name: string, more: object = {}) =>
  ({
    ...defineSlice({
      name,
      initial: [] as string[],
      on: { 'plan/added': (items, event: { step: string }) => [...items, event.step] },
    }),
    ...more,
  }) as const;
const plan = adds('plan');
const audit = adds('audit', { rollback: false });

const open = (id: string, slices: readonly AnySlice[] = [plan, audit], store = memoryStore()) =>
  openSession({ store, id, slices });
const add = (step: string) => ({ type: 'plan/added', step });

describe.for(STORES)('D21: restore, on %s', ([, create]) => {
  test('restores slices that roll back, keeps the others, and never changes the conversation', async () => {
    const store = await create();
    const session = await open('s1', [plan, audit], store);
    await session.append([add('a'), user('hi', 0)]);
    const snapshot = JSON.stringify(session.snapshot());
    await session.append([add('b'), user('more', 1)]);
    await session.restore(snapshot);
    expect(session.select(plan).all()).toEqual(['a']);
    expect(session.select(audit).all()).toEqual(['a', 'b']);
    expect(session.messages()).toHaveLength(2);
    expect((await open('s1', [plan, audit], store)).select(plan).all()).toEqual(['a']);
    await session.append([add('c')]);
    expect(session.select(plan).all()).toEqual(['a', 'c']);
  });

  test('I1: is one event: the undone events are still in the log', async () => {
    const store = await create();
    const session = await open('s1', [plan], store);
    await session.append([add('a')]);
    const snapshot = session.snapshot();
    await session.append([add('b')]);
    await session.restore(snapshot);
    expect((await logIn(store)).map((event) => event.type)).toEqual(['plan/added', 'plan/added', 'session/restored']);
  });
});

/**
 * The record of a copy: requests and suspensions have the position of the restore, not of their own log (D73), and queued inputs stay with
 * the original session (D61).
 */
function asRestoredAt(seq: number, record: unknown): unknown {
  return JSON.parse(JSON.stringify(record), (key, value: unknown) => {
    if (key === 'cancelRequest' || key === 'resumeRequest') return { ...(value as object), seq };
    if (key === 'suspendedSeq') return seq;
    return key === 'inbox' ? (value as SessionInput[]).filter(({ status }) => status !== 'queued') : value;
  });
}

describe('into an empty session', () => {
  test('any state is restored completely: conversation, slices, status', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryDrafts, async (drafts) => {
        const origin = await openSession({ store: memoryStore(), id: 's1', slices: SLICES });
        await Promise.allSettled(drafts.map((draft) => appendDraft(origin, draft)));
        const copy = await openSession({ store: memoryStore(), id: 's2', slices: SLICES });
        await copy.restore(JSON.stringify(origin.snapshot()));
        const [was, is] = [plain(origin.state), plain(copy.state)] as Record<string, Record<string, unknown>>[];
        expect(is?.record).toEqual(asRestoredAt(1, was?.record));
        expect(is?.messagesOf).toEqual(was?.messagesOf);
        expect({ ...is?.slices, focus: 0 }).toEqual({ ...was?.slices, focus: 0 }); // not persisted
      }),
      { numRuns: 50 },
    );
  });

  test('the conversation continues from there', async () => {
    const origin = await open('s1');
    await origin.append([started(), user('hi', 0), answer(1, ['a'])]);
    const copy = await open('s2');
    await copy.restore(origin.snapshot());
    expect(copy.summary).toMatchObject({ status: 'running', evaluationId: 'e1' });
    await copy.append([
      { type: 'message/recorded', message: messageOf('tool', 'done', 2, { turn: 1, toolCallId: 'a' }) },
    ]);
    expect(copy.state.record.evaluations.get('e1')?.calls).toMatchObject([{ status: 'completed' }]);
  });

  test('D6: an unknown slice is restored too, for processes that define it', async () => {
    const origin = await open('s1', [plan, adds('foreign', { rollback: false })]);
    await origin.append([add('a')]);
    const store = memoryStore();
    const copy = await open('s2', [plan], store);
    await copy.restore(origin.snapshot());
    const foreign = adds('foreign', { rollback: false });
    expect((await open('s2', [foreign], store)).select(foreign).all()).toEqual(['a']);
  });

  test('a conversation of another record version is rejected', async () => {
    const origin = await open('s1');
    await origin.append([user('hi', 0)]);
    const text = JSON.stringify(origin.snapshot()).replace('"messages":{"version":1', '"messages":{"version":2');
    const store = memoryStore();
    const copy = await open('s2', [plan], store);
    expect(await rejection(copy.restore(text))).toMatchObject({ code: 'SNAPSHOT_INVALID' });
    expect(await logIn(store, 's2')).toEqual([]);
  });

  test('external content is restored, too', async () => {
    const store = memoryStore();
    const origin = await openSession({ store, id: 's1', maxInlineLength: 10 });
    await origin.append([user('x'.repeat(50), 0)]);
    const copy = await openSession({ store, id: 's2' });
    await copy.restore(origin.snapshot());
    await store.deleteSession('s1');
    expect((await copy.resolve(copy.messages()))[0]?.content).toEqual([{ type: 'text', text: 'x'.repeat(50) }]);
  });
});

describe('D6: a slice that the snapshot lacks or has in another version', () => {
  test.for<readonly [string, Slice<string>, Slice<string> | undefined]>([
    ['added since', plan, undefined],
    ['changed since', { ...plan, version: 2 }, { ...plan, on: { 'plan/added': () => ['by the old reducer'] } }],
    ['never in a snapshot', { ...plan, persist: false }, undefined],
  ])('%s: is folded from the log up to there', async ([, now, then]) => {
    const store = memoryStore();
    const before = await open('s1', then ? [then] : [], store);
    await before.append([{ type: 'plan/added', step: 'a' }]);
    const snapshot = before.snapshot();
    await before.append([{ type: 'plan/added', step: 'b' }]);
    const session = await open('s1', [now], store);
    await session.restore(snapshot);
    expect(session.select(now).all()).toEqual(['a']);
  });
});

describe('I10: an invalid snapshot changes nothing', () => {
  test.for<readonly [string, (text: string) => unknown]>([
    ['cut', (text) => text.slice(0, -9)],
    ['of a newer version', (text) => text.replace('"version":1', '"version":9')],
    ['nothing', () => undefined],
    ['text', () => 'hello'],
    ['deep', (text) => text.replace('"items":[', `"items":[${'['.repeat(100_000)}${']'.repeat(100_000)},`)],
  ])('a snapshot that is %s', async ([, damage]) => {
    const store = memoryStore();
    const session = await open('s1', [plan], store);
    await session.append([add('a')]);
    const damaged = damage(JSON.stringify(session.snapshot())) as string;
    expect(await rejection(session.restore(damaged))).toMatchObject({ code: 'SNAPSHOT_INVALID' });
    expect(await logIn(store)).toHaveLength(1);
    expect(session.select(plan).all()).toEqual(['a']);
  });

  test('strict rejects slices that the session was not opened with; maxLength limits the text', async () => {
    const origin = await open('s1', [plan, adds('foreign')]);
    await origin.append([add('a')]);
    const session = await open('s2', [plan]);
    const error = await rejection(session.restore(origin.snapshot(), { strict: true }));
    expect(error).toMatchObject({ code: 'SNAPSHOT_INVALID', message: expect.stringContaining('foreign') });
    expect(await rejection(session.restore(origin.snapshot(), { maxLength: 10 }))).toMatchObject({
      code: 'SNAPSHOT_INVALID',
    });
    await session.restore(origin.snapshot(), { strict: false });
  });
});

test('a conversation may be longer than the limit of an event', async () => {
  const origin = await openSession({ store: memoryStore(), id: 's1', maxEventLength: 500 });
  for (let i = 0; i < 10; i++) await origin.append([user('x'.repeat(100), i)]);
  const copy = await openSession({ store: memoryStore(), id: 's2', maxEventLength: 500 });
  await copy.restore(origin.snapshot());
  expect(copy.messages()).toEqual(origin.messages());
});

test('an event of the maximum depth can be in a snapshot and be restored', async () => {
  let deep: unknown = 'x';
  for (let i = 0; i < 99; i++) deep = [deep];
  const slice = defineSlice({ name: 'deep', initial: [], on: { 'thing/happened': appendAll } });
  const session = await openSession({ store: memoryStore(), id: 's1', slices: [slice] });
  await session.dispatch({ type: 'thing/happened', deep });
  const snapshot = JSON.stringify(session.snapshot());
  await session.dispatch({ type: 'thing/happened' });
  await session.restore(snapshot);
  expect(session.select(slice).all()).toMatchObject([{ deep }]);
});
