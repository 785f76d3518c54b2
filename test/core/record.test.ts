import { describe, expect, test } from 'vitest';
import { refusalLimit } from '../../src/core/fold/evaluation-messages.ts';
import type { Evaluation } from '../../src/core/fold/evaluations.ts';
import { createFold } from '../../src/core/fold/fold.ts';
import { decodeRecord, encodeRecord } from '../../src/core/fold/record-items.ts';
import type { SessionEvent } from '../../src/core/log/events.ts';
import { callKey, callsOf, textOf } from '../../src/core/log/messages.ts';
import {
  answer,
  callOf,
  type Draft,
  foldLog,
  logOf,
  messageOf,
  recorded,
  refOf,
  result,
  started,
  timeOf,
  toolStarted,
  user,
} from './log.ts';

const evaluationIn = (drafts: readonly Draft[], id = 'e1'): Evaluation | undefined =>
  foldLog(logOf(...drafts)).record.evaluations.get(id);

const suspended: Draft = {
  type: 'evaluation/suspended',
  evaluationId: 'e1',
  reason: 'CANCELLED',
  message: '',
  pending: [],
};
const completed: Draft = { type: 'evaluation/completed', evaluationId: 'e1' };
const failed: Draft = {
  type: 'evaluation/failed',
  evaluationId: 'e1',
  error: { code: 'OUTPUT_INVALID', message: 'no' },
};
const superseded: Draft = { type: 'evaluation/superseded', evaluationId: 'e1', by: 'e2' };

describe('D13: the newest event of an open evaluation decides its status', () => {
  test.for<readonly [string, readonly Draft[], Evaluation['status']]>([
    ['started', [], 'running'],
    ['suspended', [suspended], 'suspended'],
    ['suspended, then a message', [suspended, user('go on', 0)], 'running'],
    ['suspended, then a start', [answer(0, ['a']), suspended, toolStarted('a', 'once')], 'running'],
    [
      'suspended, then an approval',
      [answer(0, ['a']), suspended, { type: 'tool/approved', ...refOf('a') }],
      'suspended',
    ],
    [
      'suspended, then a settlement',
      [answer(0, ['a']), suspended, { type: 'tool/settled', ...refOf('a'), how: { rerun: true } }],
      'suspended',
    ],
    ['completed', [completed], 'completed'],
    ['suspended, then completed', [suspended, completed], 'completed'],
    ['failed', [failed], 'failed'],
    ['superseded', [superseded], 'superseded'],
    ['suspended, then superseded', [suspended, superseded], 'superseded'],
    // D14: an ended evaluation never runs again, whatever event comes late.
    ['completed, then suspended', [completed, suspended], 'completed'],
    ['failed, then completed', [failed, completed], 'failed'],
    ['superseded, then suspended', [superseded, suspended], 'superseded'],
    ['completed, then a message', [completed, user('more', 0)], 'completed'],
  ])('%s: %s', ([, drafts, status]) => {
    const evaluation = evaluationIn([started(), ...drafts]);
    expect(evaluation?.status).toBe(status);
    expect(evaluation?.reason).toBe(status === 'suspended' ? 'CANCELLED' : undefined);
    expect(evaluation?.error?.code).toBe(status === 'failed' ? 'OUTPUT_INVALID' : undefined);
  });
});

describe('D8, D9: the status of a call follows from its events', () => {
  test.for<readonly [string, readonly Draft[], string, number]>([
    ['no trace', [], 'pending', 0],
    ['a start', [toolStarted('a', 'once')], 'started', 1],
    ['two starts', [toolStarted('a', 'once'), toolStarted('a', 'once', 2)], 'started', 2],
    ['a result', [result(2, 'a')], 'completed', 0],
    ['a failed result', [result(2, 'a', { isError: true })], 'failed', 0],
    ['a start and a result', [toolStarted('a', 'once'), result(2, 'a')], 'completed', 1],
    ['I2: a result and a start that comes late', [result(2, 'a'), toolStarted('a', 'once')], 'completed', 0],
    ['D11: a result of another call', [result(2, 'b')], 'pending', 0],
    ['D11: a result of another turn', [result(2, 'a', { turn: 2 })], 'pending', 0],
    ['D11: a start of another evaluation', [toolStarted('a', 'once', 1, { evaluationId: 'e2' })], 'pending', 0],
  ])('%s: %s', ([, traces, status, attempt]) => {
    const evaluation = evaluationIn([started(), user('hi', 0), answer(1, ['a', 'b']), ...traces]);
    expect(evaluation?.calls[0]).toMatchObject({ callId: 'a', status, attempt });
  });

  test('a settlement applies to the starts before it: another start voids it', () => {
    const settled: Draft = { type: 'tool/settled', ...refOf('a'), how: { rerun: true } };
    const drafts = [started(), answer(0, ['a']), toolStarted('a', 'once'), settled];
    expect(evaluationIn(drafts)?.calls[0]?.settlement).toEqual({ rerun: true });
    expect(evaluationIn([...drafts, toolStarted('a', 'once', 2)])?.calls[0]?.settlement).toBeUndefined();
  });

  test('calls that the provider ran itself are not run by the loop', () => {
    const calls = [callOf('a', { providerExecuted: { result: 1 } }), callOf('b')];
    expect(evaluationIn([started(), answer(0, [], { toolCalls: calls })])?.calls.map((call) => call.callId)).toEqual([
      'b',
    ]);
  });

  test('a new response replaces the calls of the one before', () => {
    const evaluation = evaluationIn([started(), answer(0, ['a']), result(1, 'a'), answer(2, ['c'], { turn: 2 })]);
    expect(evaluation?.calls).toMatchObject([{ callId: 'c', turn: 2, status: 'pending' }]);
    expect(evaluation?.turn).toBe(2);
  });
});

describe('D12: a position in an evaluation is used once', () => {
  test('a repeated message changes nothing, not even the usage', () => {
    const once = [
      started(),
      recorded(messageOf('assistant', 'hi', 0, { turn: 1 }), { usage: { inputTokens: 1, outputTokens: 2 } }),
    ];
    const { record } = foldLog(logOf(...once));
    const again = foldLog(logOf(...once, ...once.slice(1))).record;
    expect(again.messages.toArray()).toEqual(record.messages.toArray());
    expect(again.usage.toArray()).toEqual(record.usage.toArray());
    expect(again.evaluations.get('e1')?.usage).toEqual({ inputTokens: 1, outputTokens: 2 });
  });

  test('evaluations are ordered by their first event, regardless of ids and times', () => {
    const log = logOf(started('z'), started('a'), user('x', 0, { evaluationId: 'm' }), started('z'));
    expect(foldLog(log).record.evaluations.items.map((evaluation) => evaluation.id)).toEqual(['z', 'a', 'm']);
  });

  test('a message without a start creates its evaluation; a later start adds the missing fields', () => {
    const drafts = [user('hi', 0, { promptNs: 'imported' })];
    expect(evaluationIn(drafts)).toMatchObject({
      status: 'running',
      promptNs: 'imported',
      promptHash: '',
      startedSeq: 1,
    });
    expect(evaluationIn([...drafts, started()])).toMatchObject({ promptHash: 'hash', startedSeq: 1, nextSequence: 1 });
    expect(evaluationIn([...drafts, started()])?.messages.length).toBe(1);
  });

  test('a second start changes nothing', () => {
    expect(evaluationIn([started(), started('e1', { promptHash: 'other' } as object)])?.promptHash).toBe('hash');
  });
});

describe('D52: usage is added to the response, its evaluation and every ancestor', () => {
  const parent = { evaluationId: 'e1', turn: 1, callId: 'a' };
  const spent = (evaluationId: string, sequence: number, inputTokens: number, costUsd?: number): Draft =>
    recorded(messageOf('assistant', '', sequence, { evaluationId, turn: 1 }), {
      model: 'm',
      usage: { inputTokens, outputTokens: 1, ...(costUsd !== undefined && { costUsd }) },
    });
  const log = logOf(
    started(),
    spent('e1', 0, 1),
    started('child', { parent } as object),
    spent('child', 0, 10, 0.5),
    started('grandchild', { parent: { ...parent, evaluationId: 'child' } } as object),
    spent('grandchild', 0, 100),
    {
      type: 'history/summarized',
      evaluationId: 'child',
      key: 'k',
      text: 's',
      usage: { inputTokens: 1000, outputTokens: 0 },
    },
  );
  const { record } = foldLog(log);

  test.for([
    ['e1', 1, 1111, 3],
    ['child', 1010, 1110, 2],
    ['grandchild', 100, 100, 1],
  ] as const)('%s used %i itself and %i with its children', ([id, own, total, outputs]) => {
    const evaluation = record.evaluations.get(id);
    expect(evaluation?.usage.inputTokens).toBe(own);
    expect(evaluation?.totalUsage).toMatchObject({ inputTokens: total, outputTokens: outputs });
  });

  test('costs are added if they are known and absent if they are not', () => {
    expect(record.evaluations.get('e1')?.usage).not.toHaveProperty('costUsd');
    expect(record.evaluations.get('e1')?.totalUsage.costUsd).toBe(0.5);
    expect(record.usage.toArray().map((one) => [one.evaluationId, one.usage.inputTokens, one.model])).toEqual([
      ['e1', 1, 'm'],
      ['child', 10, 'm'],
      ['grandchild', 100, 'm'],
    ]);
  });

  test("I10: evaluations that are each other's parents are charged once each", () => {
    const looped = logOf(
      started('e1', { parent: { evaluationId: 'e2', turn: 1, callId: 'a' } } as object),
      started('e2', { parent } as object),
      spent('e1', 0, 1),
    );
    const { evaluations } = foldLog(looped).record;
    expect(evaluations.get('e1')?.totalUsage.inputTokens).toBe(1);
    expect(evaluations.get('e2')?.totalUsage.inputTokens).toBe(1);
  });
});

describe('D58: an erased message', () => {
  const said = [
    started(),
    user('secret question', 0),
    answer(1, [], {
      toolCalls: [
        callOf('a', { arguments: '{"secret":1}', providerData: { provider: 'p', data: { secret: 1 } } }),
        callOf('b', { arguments: '"secret"', providerExecuted: { result: 'secret' } }),
      ],
    }),
    { type: 'tool/settled', ...refOf('a'), how: { result: 'secret' } } as Draft,
    result(2, 'a'),
  ];
  const erase = (messageId: string): Draft => ({ type: 'message/erased', messageId });

  test('has no content, in the list and in its evaluation, and keeps its position, role and the names of its calls', () => {
    const { record } = foldLog(logOf(...said, erase('e1:0'), erase('e1:1'), erase('e1:2')));
    expect(JSON.stringify(record)).not.toContain('secret');
    expect(record.messages.toArray().map((message) => message.role)).toEqual(['user', 'assistant', 'tool']);
    expect(record.messages.toArray()).toEqual(record.evaluations.get('e1')?.messages.toArray());
    expect(record.messages.at(1)).toMatchObject({ toolCalls: [{ callId: 'a', name: 'write' }, { callId: 'b' }] });
    expect(record.evaluations.get('e1')?.calls[0]).toMatchObject({ status: 'completed', arguments: '{}' });
  });

  test('does not change other messages', () => {
    const { record } = foldLog(logOf(...said, erase('e1:0')));
    expect(textOf(record.messages.at(0) ?? { content: [] })).toBe('[erased]');
    expect(record.evaluations.get('e1')?.calls[0]?.arguments).toBe('{"secret":1}');
    expect(foldLog(logOf(...said, erase('nobody'))).record.messages.toArray()).toEqual(
      foldLog(logOf(...said)).record.messages.toArray(),
    );
  });
});

test.for<readonly [string, Draft]>([
  ['a description', { type: 'session/described', title: 't' }],
  ['a decision on an unknown call', { type: 'tool/approved', ...refOf('nobody') }],
  ['the end of an unknown evaluation', { type: 'evaluation/completed', evaluationId: 'nobody' }],
  ['an erasure of an unknown message', { type: 'message/erased', messageId: 'nobody' }],
  ['a message that is there', answer(0, ['a'])],
  ['a start that is there', started()],
])('%s returns the same record', ([, draft]) => {
  const fold = createFold();
  const before = foldLog(logOf(started(), answer(0, ['a'])));
  const after = fold.apply(before, { ...draft, seq: 3, at: timeOf(3) } as SessionEvent);
  expect(after.record).toBe(before.record);
});

test("textOf omits reasoning, callsOf omits the provider's calls, callKey is one string", () => {
  const message = messageOf('assistant', 'said', 0, {
    toolCalls: [callOf('a'), callOf('b', { providerExecuted: {} })],
  });
  const content = [...message.content, { type: 'reasoning', text: 'thought' }, { type: 'text', text: '!' }] as const;
  expect(textOf({ content })).toBe('said!');
  expect(callsOf(message).map((call) => call.callId)).toEqual(['a']);
  expect(callsOf(messageOf('user', '', 0))).toEqual([]);
  expect(callKey(refOf('a'))).toBe('e1/1/a');
});

describe('a request that the model refused as too long', () => {
  const refused = (turn: number, model: string, maxTokens: number): Draft => ({
    type: 'history/curated',
    ...{ evaluationId: 'e1', turn, promptName: 'ns/key', strategy: 'passthrough', originalCount: 1, curatedCount: 1 },
    ...{ estimatedTokens: 2 * maxTokens, prefixKept: 1, refused: { model, maxTokens, message: 'too long' } },
  });

  test('sets the limit of its evaluation until a newer one is refused, also after a snapshot', () => {
    const log = logOf(started(), user('hi', 0), refused(1, 'small', 50), refused(3, 'small', 40));
    const { record } = foldLog(log);
    const evaluation = record.evaluations.get('e1');
    expect(evaluation?.refusal).toEqual({ turn: 3, model: 'small', maxTokens: 40 });
    expect(decodeRecord(encodeRecord(record)).evaluations.get('e1')?.refusal).toEqual(evaluation?.refusal);
    expect(evaluation && refusalLimit(record, evaluation, 'small')).toBe(40);
    expect(evaluation && refusalLimit(record, evaluation, 'large')).toBeUndefined();
  });

  test('limits the evaluations that continue it, until one of them has a refusal of its own', () => {
    const log = logOf(
      started(),
      refused(1, 'small', 50),
      completed,
      started('e2', { continues: 'e1' } as object),
      started('e3', { continues: 'e2' } as object),
      { ...refused(1, 'small', 30), evaluationId: 'e3' },
    );
    const { record } = foldLog(log);
    const limitOf = (id: string): number | undefined => {
      const evaluation = record.evaluations.get(id);
      return evaluation && refusalLimit(record, evaluation, 'small');
    };
    expect(['e1', 'e2', 'e3'].map(limitOf)).toEqual([50, 50, 30]);
  });

  test('of an ended evaluation, or with an invalid limit, changes nothing', () => {
    expect(evaluationIn([started(), completed, refused(1, 'small', 50)])?.refusal).toBeUndefined();
    const { record } = foldLog(logOf(started(), { ...refused(1, 'small', 0), refused: 'by a newer version' }));
    const evaluation = record.evaluations.get('e1');
    expect(evaluation && refusalLimit(record, evaluation, 'small')).toBeUndefined();
  });
});
