import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defineSlice } from '../../src/core/fold/slices.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { arbitraryDrafts } from '../core/arbitraries.ts';
import { answer, type Draft, logOf, messageOf, refOf, started, toolStarted, user } from '../core/log.ts';
import { appendDraft, logIn, rejection } from './log-of.ts';
import { STORES } from './stores.ts';

const message = messageOf('assistant', 'hi', 0, { turn: 1 });
const withMessage = (change: object): object => ({ type: 'message/recorded', message: { ...message, ...change } });
const without = (event: Draft, field: string): object => ({ ...event, [field]: undefined });
const captured = { id: 'x', evaluationId: 'e1', state: { adapterType: 't' }, resumable: true, capturedAt: 'then' };

/** Values that are not events, and malformed built-in events. */
const REFUSED: readonly (readonly [string, unknown])[] = [
  ['nothing', undefined],
  ['null', null],
  ['text', 'plan/added'],
  ['a list', []],
  ['no type', { step: 1 }],
  ['a type that is no text', { type: 7 }],
  ['a type of one word', { type: 'added' }],
  ['a type that begins with a digit', { type: '1/a' }],
  ['a type with a line break', { type: 'a/b\n' }],
  ['a value that becomes text', { type: 'a/b', toJSON: () => 'a/b' }],
  ['a message that is missing', { type: 'message/recorded' }],
  ['a message of no known role', withMessage({ role: 'robot' })],
  ['a message whose content is text', withMessage({ content: 'hi' })],
  ['a message with a part that is null', withMessage({ content: [null] })],
  ['a message with a text part without text', withMessage({ content: [{ type: 'text' }] })],
  ['a message with an image without data', withMessage({ content: [{ type: 'image', mediaType: 'image/png' }] })],
  ['a message without an id', withMessage({ id: undefined })],
  ['a message without an evaluation', withMessage({ evaluationId: undefined })],
  ['a message without a time', withMessage({ createdAt: undefined })],
  ['a message with a negative sequence', withMessage({ sequence: -1 })],
  ['a message with half a turn', withMessage({ turn: 0.5 })],
  ['a message whose calls are no list', withMessage({ toolCalls: {} })],
  ['a message with a call without arguments', withMessage({ toolCalls: [{ callId: 'a', name: 'b' }] })],
  ['a user who calls tools', withMessage({ role: 'user', toolCalls: [] })],
  ['a result of no call', withMessage({ role: 'tool', toolName: 'x', isError: false })],
  ['a result that does not say how it ended', withMessage({ role: 'tool', toolCallId: 'a', toolName: 'x' })],
  ['usage without numbers', { ...withMessage({}), usage: { inputTokens: '1', outputTokens: 1 } }],
  ['usage that is negative', { ...withMessage({}), usage: { inputTokens: 1, outputTokens: -1 } }],
  ['a cost that is negative', { ...withMessage({}), usage: { inputTokens: 1, outputTokens: 1, costUsd: -0.5 } }],
  ['a cost that is text', { ...withMessage({}), usage: { inputTokens: 1, outputTokens: 1, costUsd: '1' } }],
  [
    'a summary of negative usage',
    {
      type: 'history/summarized',
      evaluationId: 'e1',
      key: 'k',
      text: 't',
      usage: { inputTokens: -1, outputTokens: 0 },
    },
  ],
  ['usage that is infinite', { ...withMessage({}), usage: { inputTokens: Number.POSITIVE_INFINITY, outputTokens: 1 } }],
  ['a start of nobody', without(started(), 'evaluationId')],
  ['a start without a prompt', without(started(), 'promptHash')],
  ['a start with half a parent', started('e1', { parent: { evaluationId: 'e0' } } as object)],
  ['a tool start without a call', without(toolStarted('a', 'once'), 'callId')],
  ['a tool start of no known effect', toolStarted('a', 'twice' as 'once')],
  ['an approval without a turn', { type: 'tool/approved', evaluationId: 'e1', callId: 'a' }],
  ['a settlement that says nothing', { type: 'tool/settled', ...refOf('a'), how: {} }],
  ['a settlement that is text', { type: 'tool/settled', ...refOf('a'), how: 'done' }],
  ['a suspension without a reason', { type: 'evaluation/suspended', evaluationId: 'e1', message: '', pending: [] }],
  ['a completion of nobody', { type: 'evaluation/completed' }],
  ['a failure without an error', { type: 'evaluation/failed', evaluationId: 'e1' }],
  ['tags that are text', { type: 'session/described', tags: 'a,b' }],
  ['tags that are numbers', { type: 'session/described', tags: [1] }],
  ['metadata that is a list', { type: 'session/described', metadata: [] }],
  ['a fork of nothing', { type: 'session/forked' }],
  ['a restore of nothing', { type: 'session/restored' }],
  ['a restore of items that are no list', { type: 'session/restored', slices: { plan: 'x' } }],
  ['a restore of damaged messages', { type: 'session/restored', slices: { messages: [{}] } }],
  ['an erasure of nothing', { type: 'message/erased' }],
  [
    'an interruption without blocks',
    { type: 'message/interrupted', evaluationId: 'e1', conversationId: 'main', turn: 1, attempt: 1 },
  ],
  ['an adapter state of nothing', { type: 'adapter/captured' }],
  ['an adapter state without a kind', { type: 'adapter/captured', snapshot: { ...captured, state: {} } }],
  ['a summary without text', { type: 'history/summarized', evaluationId: 'e1', key: 'k' }],
  ['a curation of nobody', { type: 'history/curated' }],
  ['a refusal without a limit', { type: 'history/curated', evaluationId: 'e1', turn: 1, refused: { model: 'm' } }],
];

describe('I10: an invalid event is rejected, and nothing is written', () => {
  test.for(REFUSED)('%s', async ([, event]) => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1' });
    const error = await rejection(session.append([{ type: 'a/a' }, event as { type: string }]));
    expect(error).toMatchObject({ name: 'HoldfastError', code: 'EVENT_INVALID' });
    expect(await rejection(session.stage().dispatch(event as { type: string }))).toMatchObject({
      code: 'EVENT_INVALID',
    });
    expect(session.seq).toBe(0);
    expect(await logIn(store)).toEqual([]);
  });

  test('every event that the types allow is accepted', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryDrafts, async (drafts) => {
        const session = await openSession({ store: memoryStore(), id: 's1' });
        for (const outcome of await Promise.allSettled(drafts.map((draft) => appendDraft(session, draft)))) {
          if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'SESSION_CONFLICT' });
        }
      }),
    );
    const session = await openSession({ store: memoryStore(), id: 's1' });
    await session.append([
      started('e1', { key: 'k', continues: 'e0', parent: refOf('a'), adapterType: 'x' } as object),
      {
        type: 'message/interrupted',
        evaluationId: 'e1',
        conversationId: 'main',
        turn: 1,
        attempt: 1,
        blocks: [{ blockId: 'b', text: '' }],
      },
      { type: 'session/forked', origin: { sessionId: 's0', seq: 1 } },
      { type: 'adapter/captured', snapshot: captured },
      { type: 'tool/settled', ...refOf('a'), how: { rerun: true } },
      { type: 'history/curated', evaluationId: 'e1', turn: 1 },
      { type: 'message/recorded', message: { ...message, content: [{ type: 'hologram', of: 'a newer version' }] } },
    ]);
    expect(session.seq).toBe(7);
  });
});

describe('I10: a log that a foreign program wrote', () => {
  test.for(STORES)('can be opened with any events, and malformed ones are reported, on %s', async ([, create]) => {
    const store = await create();
    const hostile = [
      { type: 'message/recorded', at: 'then', message: { ...message, toolCalls: 7 } },
      { type: 'message/recorded', at: 'then', message: { ...message, content: 'text' } },
      { type: 'history/summarized', at: 'then', evaluationId: 'e1', key: 'k', text: 't', usage: 'much' },
      { type: 'not a type at all', at: 'then' },
    ];
    const sound = logOf(started('e2'), user('hi', 0, { evaluationId: 'e2' })).map(({ seq: _, ...event }) => event);
    await store.append('s1', [...hostile, ...sound] as never, { id: 'foreign', expectedSeq: 0 });
    const errors: unknown[] = [];
    const session = await openSession({ store, id: 's1', onError: (error) => errors.push(error) });
    expect(session.seq).toBe(6);
    expect(session.state.record.evaluations.get('e2')?.messages.length).toBe(1);
    expect(errors[0]).toMatchObject({ code: 'EVENT_INVALID' });
    await session.append([answer(1, ['a'], { evaluationId: 'e2' })]);
  });
});

describe('session ids', () => {
  test.for<readonly [string, unknown]>([
    ['empty', ''],
    ['a number', 7],
    ['missing', undefined],
    ['an object', { toString: () => 's1' }],
    ['too long', 'x'.repeat(513)],
    ['with a NUL', 'a\0b'],
    ['with a line break', 'a\nb'],
    ['with an escape', '\u001b[31mred'],
    ['with half a surrogate pair', 'a\ud800'],
  ])('%s are rejected, for opening and for forking', async ([, id]) => {
    const store = memoryStore();
    expect(await rejection(openSession({ store, id: id as string }))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    const session = await openSession({ store, id: 's1' });
    await session.append([{ type: 'a/a' }]);
    if (id !== undefined)
      expect(await rejection(session.fork({ id: id as string }))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect((await store.listSessions()).sessions.map((one) => one.id)).toEqual(['s1']);
  });

  test.for(STORES)('any other id is accepted, and no two are confused, on %s', async ([, create]) => {
    const store = await create();
    const ids = [
      '../../etc/passwd',
      '__proto__',
      'constructor',
      "'; DROP TABLE events; --",
      '%',
      'é',
      'e\u0301',
      '🎉',
      ' ',
      'A',
      'a',
      'x'.repeat(512),
    ];
    for (const id of ids) await (await openSession({ store, id })).append([{ type: 'a/a', id }]);
    for (const id of ids) expect(await logIn(store, id)).toMatchObject([{ seq: 1, id }]);
  });
});

describe('two slices with one name', () => {
  const slice = (name: string) => ({ ...defineSlice({ name: 'plan', initial: [], on: {} }), name });

  test.for([[['plan', 'plan']], [['messages']], [['summaries']]] as const)('%s are rejected', async ([names]) => {
    const error = await rejection(openSession({ store: memoryStore(), id: 's1', slices: names.map(slice) }));
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('D58: sizes', () => {
  test.for<readonly [string, string, number]>([
    ['plain letters', 'x', 1],
    ['letters that JSON writes with six', '\u0001', 6],
    ['half surrogate pairs', '\ud800', 6],
    ['quotes', '"', 2],
  ])('the limit counts characters of JSON: %s', async ([, letter, length]) => {
    const session = await openSession({ store: memoryStore(), id: 's1', maxEventLength: 1000 });
    const most = Math.floor((1000 - 80) / length);
    await session.append([{ type: 'a/a', text: letter.repeat(most) }]);
    const error = await rejection(
      session.append([{ type: 'a/a', text: letter.repeat(most + Math.ceil(80 / length) + 1) }]),
    );
    expect(error).toMatchObject({ code: 'EVENT_TOO_LARGE', message: expect.stringContaining('maxEventLength') });
    expect(session.seq).toBe(1);
  });

  test('an event of the default limit is accepted, a longer one is not', async () => {
    const session = await openSession({ store: memoryStore(), id: 's1' });
    await session.append([{ type: 'a/a', text: 'x'.repeat(4 * 1024 * 1024 - 100) }]);
    expect(await rejection(session.append([{ type: 'a/a', text: 'x'.repeat(4 * 1024 * 1024) }]))).toMatchObject({
      code: 'EVENT_TOO_LARGE',
    });
  });
});

describe('a session that is read-only', () => {
  test('must exist', async () => {
    const error = await rejection(openSession({ store: memoryStore(), id: 's1', readOnly: true }));
    expect(error).toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });

  test('reads, tails and forks, and writes nothing', async () => {
    const store = memoryStore();
    const writer = await openSession({ store, id: 's1' });
    await writer.append([user('hi', 0)]);
    const reader = await openSession({ store, id: 's1', readOnly: true });
    const snapshot = reader.snapshot();
    const writes: readonly (() => Promise<unknown>)[] = [
      () => reader.append([{ type: 'a/a' }]),
      () => reader.append([{ type: 'a/a' }]),
      () => reader.describe({ title: 'x' }),
      () => reader.transaction(() => {}),
      async () => reader.stage(),
      () => reader.restore(snapshot),
      () => reader.compact(),
      () => reader.eraseMessage('e1:0'),
    ];
    for (const write of writes) expect(await rejection(write())).toMatchObject({ code: 'SESSION_READ_ONLY' });
    expect(await logIn(store)).toHaveLength(1);
    await writer.append([{ type: 'a/a' }]);
    await reader.refresh();
    expect(reader.seq).toBe(2);
    const fork = await reader.fork();
    expect(fork.readOnly).toBe(false);
    await reader.close();
  });
});
