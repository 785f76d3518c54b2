import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SessionEvent } from '../../src/core/log/events.ts';
import type { CallRef } from '../../src/core/log/messages.ts';
import { summarizeSession } from '../../src/core/summary/session-summary.ts';
import { arbitraryLog } from './arbitraries.ts';
import { answer, type Draft, foldLog, logOf, refOf, result, started, timeOf, user } from './log.ts';

const summaryOf = (...drafts: readonly Draft[]) => foldLog(logOf(...drafts)).summary;

test("the first event of any type sets the session's start", () => {
  expect(summaryOf({ type: 'a/b' })).toEqual({ tags: [], metadata: {}, createdAt: timeOf(1), turns: 0 });
  expect(foldLog([]).summary).toBeUndefined();
});

test('a description replaces title and tags, merges metadata, and null removes a key', () => {
  expect(
    summaryOf(
      { type: 'session/described', title: 'one', tags: ['a'], metadata: { x: 1, y: { z: 2 } } },
      { type: 'session/described', metadata: { x: null, w: [3] } },
      { type: 'session/described', tags: [] },
    ),
  ).toEqual({ title: 'one', tags: [], metadata: { y: { z: 2 }, w: [3] }, createdAt: timeOf(1), turns: 0 });
});

test('responses are counted, and their usage is added up with that of summaries', () => {
  const base = { evaluationId: 'e', promptNs: 'n', promptKey: 'k', createdAt: '', sequence: 0, content: [] };
  const said = (role: string, turn: number, conversationId = 'main') => ({
    ...{ type: 'message/recorded', message: { ...base, id: `${role}${turn}`, role, turn, conversationId } },
    usage: { inputTokens: 10, outputTokens: 1, cachedInputTokens: 4, costUsd: 0.5 },
  });
  const summary = summaryOf(
    said('assistant', 1),
    said('assistant', 2, 'child'),
    { type: 'message/recorded', message: { ...base, id: 't', role: 'tool', turn: 2, conversationId: 'main' } },
    { type: 'history/summarized', evaluationId: 'e', key: 'k', text: '', usage: { inputTokens: 5, outputTokens: 5 } },
  );
  expect(summary).toMatchObject({
    turns: 2,
    usage: { inputTokens: 25, outputTokens: 7, cachedInputTokens: 8, costUsd: 1 },
  });
  const before = { tags: [], metadata: {}, createdAt: timeOf(1) }; // as it was stored before turns were counted
  expect(summarizeSession(before, { ...said('assistant', 3), seq: 9, at: timeOf(9) } as SessionEvent)).toEqual(before);
});

test('metadata named __proto__ does not change a prototype', () => {
  const metadata = JSON.parse('{"__proto__":{"polluted":1},"constructor":2}') as Record<string, unknown>;
  const summary = summaryOf({ type: 'session/described', metadata });
  expect(Object.keys(summary?.metadata ?? {})).toEqual(['__proto__', 'constructor']);
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

const suspended: Draft = {
  type: 'evaluation/suspended',
  evaluationId: 'e1',
  reason: 'CANCELLED',
  message: '',
  pending: [],
};

test.for<readonly [string, readonly Draft[], string | undefined]>([
  ['nothing began', [], undefined],
  ['an evaluation began', [started()], 'running'],
  ['it waits', [started(), suspended], 'suspended'],
  ['it goes on', [started(), suspended, user('x', 0)], 'running'],
  ['it ended', [started(), { type: 'evaluation/completed', evaluationId: 'e1' }], 'completed'],
  [
    'it ended, and a late event followed',
    [started(), { type: 'evaluation/completed', evaluationId: 'e1' }, suspended],
    'completed',
  ],
  ['another began since', [started(), { type: 'evaluation/completed', evaluationId: 'e1' }, started('e2')], 'running'],
  ['an older one ends', [started(), started('e2'), { type: 'evaluation/completed', evaluationId: 'e1' }], 'running'],
  [
    'a child ends',
    [started(), started('c', { conversationId: 'x' } as object), { type: 'evaluation/completed', evaluationId: 'c' }],
    'running',
  ],
])('the status is that of the newest evaluation: %s', ([, drafts, status]) => {
  expect(summaryOf({ type: 'a/b' }, ...drafts)?.status).toBe(status);
});

const decided = (what: 'approved' | 'denied' | 'settled' | 'started', callId: string): Draft =>
  ({ type: `tool/${what}`, ...refOf(callId) }) as Draft;
const cancels: Draft = { type: 'evaluation/cancel-requested', evaluationId: 'e1' };
const resumes = (after?: number): Draft => ({
  type: 'evaluation/resumed',
  evaluationId: 'e1',
  attempt: 2,
  by: 'p',
  ...(after !== undefined && { after }),
});

test.for<readonly [string, readonly Draft[], { readonly work?: string; readonly cancelRequestSeq?: number }]>([
  ['while it runs: the next run obeys', [started(), cancels], { work: 'evaluation', cancelRequestSeq: 2 }],
  ['obeyed', [started(), cancels, suspended], { cancelRequestSeq: 2 }],
  ['decided about since', [started(), suspended, cancels, decided('approved', 'a')], { cancelRequestSeq: 3 }],
  ['after a decision', [started(), suspended, decided('approved', 'a'), cancels], { cancelRequestSeq: 4 }],
  ['resumed', [started(), cancels, suspended, resumes(3)], { work: 'evaluation' }],
  ['resumed by an older version', [started(), cancels, suspended, resumes()], { work: 'evaluation' }],
  [
    'requested again before the resume was recorded',
    [started(), cancels, suspended, cancels, resumes(3)],
    { work: 'evaluation', cancelRequestSeq: 4 },
  ],
  ['of another evaluation', [started(), { ...cancels, evaluationId: 'e2' }], { work: 'evaluation' }],
  ['of one that has ended', [started(), { type: 'evaluation/completed', evaluationId: 'e1' }, cancels], {}],
  ['superseded', [started(), cancels, started('e2')], { work: 'evaluation' }],
])('a cancelled evaluation is not work until it is resumed (D73): %s', ([, drafts, expected]) => {
  const { work, cancelRequestSeq } = summaryOf(...drafts) ?? {};
  expect({ ...(work && { work }), ...(cancelRequestSeq && { cancelRequestSeq }) }).toEqual(expected);
});

const requested = (callId: string, minute: number | undefined, ref: Partial<CallRef> = {}): Draft => ({
  type: 'tool/approval-requested',
  ...refOf(callId, ref),
  toolName: 'write',
  ...(minute !== undefined && { expiresAt: atMinute(minute) }),
});
const atMinute = (minute: number): string => new Date(Date.UTC(2026, 0, 2, 0, minute)).toISOString();
const waits: Draft = { ...suspended, reason: 'APPROVAL_REQUIRED' } as Draft;
const inChild = { evaluationId: 'e1/1/a/k' };
const FAR = new Date(8.64e15).toISOString(); // its year has six digits and a sign

test.for<readonly [string, readonly Draft[], string | undefined]>([
  ['the expiry of the approval that it waits for', [requested('a', 10), waits], atMinute(10)],
  ['nothing when the approval does not expire', [requested('a', undefined), waits], undefined],
  ['the earliest of several', [requested('a', 30), requested('b', 10), requested('c', 20), waits], atMinute(10)],
  [
    'the earliest by time, not by text',
    [{ ...requested('a', 1), expiresAt: FAR }, requested('b', 10), waits],
    atMinute(10),
  ],
  ['nothing while it runs', [requested('a', 10)], undefined],
  ['nothing when it was cancelled meanwhile', [requested('a', 10), suspended], undefined],
  [
    'the expiry beside a call whose outcome is unknown',
    [requested('a', 10), { ...waits, reason: 'TOOL_OUTCOME_UNKNOWN' } as Draft],
    atMinute(10),
  ],
  [
    'the next one when the first call is approved',
    [requested('a', 10), requested('b', 20), waits, decided('approved', 'a')],
    atMinute(20),
  ],
  [
    'the next one when the first call is denied',
    [requested('a', 10), requested('b', 20), waits, decided('denied', 'a')],
    atMinute(20),
  ],
  [
    'the next one when the first call is settled',
    [requested('a', 10), requested('b', 20), waits, decided('settled', 'a')],
    atMinute(20),
  ],
  ['nothing when the last call is decided', [requested('a', 10), waits, decided('approved', 'a')], undefined],
  [
    'the expiry of the call that still waits when the evaluation is suspended again',
    [
      requested('a', 10),
      requested('b', 20),
      waits,
      decided('approved', 'a'),
      decided('started', 'a'),
      result(3, 'a'),
      waits,
    ],
    atMinute(20),
  ],
  [
    'the new expiry of a call whose approval was returned',
    [requested('a', 10), waits, decided('approved', 'a'), user('x', 2), requested('a', 40), waits],
    atMinute(40),
  ],
  ['the expiry of a call of a child conversation', [requested('x', 10, inChild), waits], atMinute(10)],
  [
    'nothing when the child conversation has ended',
    [requested('x', 10, inChild), { type: 'evaluation/superseded', evaluationId: inChild.evaluationId }, waits],
    undefined,
  ],
  ['nothing when the call has a result', [requested('a', 10), result(3, 'a'), waits], undefined],
  [
    'nothing when the evaluation has ended',
    [requested('a', 10), waits, { type: 'evaluation/superseded', evaluationId: 'e1' }],
    undefined,
  ],
  [
    'nothing when another evaluation waits',
    [requested('a', 10), waits, started('e2'), { ...waits, evaluationId: 'e2' } as Draft],
    undefined,
  ],
])('wakeAt is %s (D67)', ([, drafts, wakeAt]) => {
  const summary = summaryOf(started(), answer(1, ['a', 'b', 'c']), ...drafts);
  expect(summary?.wakeAt).toBe(wakeAt);
  if (summary && !['running', 'suspended'].includes(summary.status ?? ''))
    expect(summary).not.toHaveProperty('approvalDeadlines');
});

test('a restore into an empty session brings the approval deadlines of the waiting calls', () => {
  const call = { ...refOf('a'), status: 'pending', approvalRequest: { at: timeOf(1), expiresAt: atMinute(10) } };
  const restored = (evaluation: object, one: object = call): Draft => ({
    type: 'session/restored',
    slices: { evaluations: [{ id: 'e1', conversationId: 'main', status: 'suspended', calls: [one], ...evaluation }] },
  });
  expect(summaryOf(restored({ reason: 'APPROVAL_REQUIRED' }))?.wakeAt).toBe(atMinute(10));
  expect(summaryOf(restored({ reason: 'CANCELLED' }))?.wakeAt).toBeUndefined();
  expect(summaryOf(restored({ status: 'completed' }))).not.toHaveProperty('approvalDeadlines');
  const approved = restored({ reason: 'APPROVAL_REQUIRED' }, { ...call, approval: 'approved' });
  expect(summaryOf(approved)?.wakeAt).toBeUndefined();
});

test('a restore into an empty session brings the status of the conversation', () => {
  const evaluations = [
    { id: 'e1', conversationId: 'main', status: 'suspended' },
    { id: 'c', conversationId: 'x', status: 'running' },
  ];
  expect(summaryOf({ type: 'session/restored', slices: { evaluations } })).toMatchObject({
    status: 'suspended',
    evaluationId: 'e1',
  });
  expect(summaryOf(started('e9'), { type: 'session/restored', slices: { evaluations } })).toMatchObject({
    evaluationId: 'e9',
  });
});

test('a fork of a fork names its own origin', () => {
  const forked = (sessionId: string): Draft => ({ type: 'session/forked', origin: { sessionId, seq: 1 } });
  expect(summaryOf(forked('a'), forked('b'))?.forkedFrom).toEqual({ sessionId: 'b', seq: 1 });
});

test('an event that does not concern the summary returns the same summary', () => {
  fc.assert(
    fc.property(arbitraryLog, (log) => {
      const { summary } = foldLog(log);
      const other = { seq: 99, at: timeOf(99), type: 'a/b' as string } as SessionEvent;
      if (summary) expect(summarizeSession(summary, other)).toBe(summary);
    }),
  );
});
