import { describe, expect, test } from 'vitest';
import {
  answer,
  callOf,
  type Draft,
  logOf,
  messageOf,
  recorded,
  refOf,
  result,
  started,
  timeOf,
  toolStarted,
  user,
  viewOf,
} from './log.ts';

const child = { conversationId: 'e2/1/a/0', parent: refOf('a', { evaluationId: 'e2' }) } as object;

/** Two evaluations of the main conversation, the second with a running child. */
const session = viewOf(
  logOf(
    started('e1'),
    recorded(messageOf('system', 'be brief', 0)),
    user('first', 1),
    answer(2, []),
    { type: 'evaluation/completed', evaluationId: 'e1' },
    started('e2', { promptKey: 'other' } as object),
    user('second', 0, { evaluationId: 'e2' }),
    answer(1, ['a', 'b', 'c'], { evaluationId: 'e2' }),
    toolStarted('a', 'idempotent', 1, { evaluationId: 'e2' }),
    started('child', child),
    user('inner', 0, { evaluationId: 'child', conversationId: 'e2/1/a/0' }),
    result(2, 'c', { evaluationId: 'e2' }),
  ),
);
const empty = viewOf([]);

describe('messages', () => {
  test.for([
    [undefined, ['e1:0', 'e1:1', 'e1:2', 'e2:0', 'e2:1', 'e2:2']],
    ['e1', ['e1:0', 'e1:1', 'e1:2']],
    ['child', ['child:0']],
    ['nobody', []],
  ] as const)('of %s: %s, in log order', ([evaluationId, ids]) => {
    expect(session.messages({ evaluationId }).map((message) => message.id)).toEqual(ids);
  });

  test('D12: in log order, even if ids and times have another order', () => {
    const log = logOf(
      user('late', 0, { evaluationId: 'z', createdAt: timeOf(9) }),
      user('early', 0, { evaluationId: 'a', createdAt: timeOf(1) }),
    );
    expect(
      viewOf(log)
        .messages()
        .map((message) => message.evaluationId),
    ).toEqual(['z', 'a']);
  });

  test('of messages without a start, by their evaluation id', () => {
    expect(viewOf(logOf(user('imported', 0))).messages({ evaluationId: 'e1' })).toHaveLength(1);
  });
});

describe('latestEvaluation', () => {
  test.for([
    ['anything', undefined, 'e2'],
    ['its prompt', { ns: 'ns', key: 'key' }, 'e1'],
    ['its namespace', { ns: 'ns' }, 'e2'],
    ['a child conversation', { conversationId: 'e2/1/a/0' }, 'child'],
    ['a prompt that never ran', { key: 'never' }, undefined],
  ] as const)('D13: the newest by log position, of %s', ([, wanted, id]) => {
    expect(session.latestEvaluation(wanted)?.id).toBe(id);
  });

  test('is undefined for an empty session', () => {
    expect(empty.latestEvaluation()).toBeUndefined();
  });
});

describe('pending', () => {
  test('D8: returns the calls without a result, in call order, with their state', () => {
    expect(session.pending()).toMatchObject([
      { callId: 'a', status: 'started', effect: 'idempotent', attempt: 1 },
      { callId: 'b', status: 'pending', attempt: 0 },
    ]);
  });

  test.for([
    ['e1', 0],
    ['e2', 2],
    ['nobody', 0],
  ] as const)('of %s: %i', ([id, count]) => {
    expect(session.pending({ evaluationId: id })).toHaveLength(count);
    expect(empty.pending({ evaluationId: id })).toEqual([]);
  });
});

describe('turns', () => {
  test('D1: of an evaluation: its responses, each with what the user wrote before it', () => {
    const turns = session.turns({ evaluationId: 'e1' });
    expect(turns).toMatchObject([
      { evaluationId: 'e1', turnNumber: 1, createdAt: timeOf(2), assistantMessage: { id: 'e1:2' }, toolMessages: [] },
    ]);
    expect(turns[0]?.userMessages.map((message) => message.id)).toEqual(['e1:1']);
  });

  test('D10: results are in call order, regardless of the order in which they finished', () => {
    const log = logOf(
      started(),
      answer(0, ['a', 'b', 'c']),
      result(1, 'c'),
      result(2, 'a'),
      result(3, 'b'),
      answer(4, [], { turn: 2 }),
    );
    const turns = viewOf(log).turns();
    expect(turns.map((turn) => turn.toolMessages.map((message) => message.toolCallId))).toEqual([['a', 'b', 'c'], []]);
    expect(turns.map((turn) => turn.turnNumber)).toEqual([1, 2]);
  });

  test('are those of the main conversation unless an evaluation is named, and none when there is none', () => {
    expect(session.turns().map(({ evaluationId }) => evaluationId)).toEqual(['e1', 'e2']);
    expect(session.turns({ evaluationId: 'child' })).toEqual([]);
    expect(session.turns({ evaluationId: 'nobody' })).toEqual([]);
    expect(empty.turns()).toEqual([]);
  });

  const callsIn = (...log: readonly Draft[]): unknown => viewOf(logOf(...log)).turns()[0]?.calls;

  test('a call has its status, the error of its result, when it was started and how long it took', () => {
    const calls = callsIn(
      started(),
      answer(0, ['a', 'b', 'c', 'd'], { createdAt: timeOf(2) }),
      toolStarted('a', 'once', 1),
      toolStarted('d', 'idempotent', 1),
      result(1, 'a', { createdAt: timeOf(5) }),
      recorded(messageOf('tool', 'no such file', 2, { turn: 1, toolCallId: 'b', isError: true, createdAt: timeOf(6) })),
    );
    expect(calls).toEqual([
      { callId: 'a', name: 'write', status: 'completed', startedAt: timeOf(3), durationMs: 2000 },
      { callId: 'b', name: 'write', status: 'failed', error: 'no such file', durationMs: 4000 },
      { callId: 'c', name: 'write', status: 'pending' },
      { callId: 'd', name: 'write', status: 'started', startedAt: timeOf(4) },
    ]);
  });

  test('a call without a recorded start, one that reads or was denied, has no start, and a duration since the response', () => {
    const denied = { turn: 1, toolCallId: 'b', isError: true, createdAt: timeOf(9) };
    const calls = callsIn(
      started(),
      answer(0, ['a', 'b'], { createdAt: timeOf(2) }),
      result(1, 'a', { createdAt: timeOf(3) }),
      { type: 'tool/approval-requested', ...refOf('b'), toolName: 'write' },
      { type: 'tool/denied', ...refOf('b'), reason: 'no' },
      recorded(messageOf('tool', 'This call was denied: no', 2, denied)),
    );
    expect(calls).toEqual([
      { callId: 'a', name: 'write', status: 'completed', durationMs: 1000 },
      { callId: 'b', name: 'write', status: 'failed', error: 'This call was denied: no', durationMs: 7000 },
    ]);
  });

  test('a call that was started again counts from its last start', () => {
    const calls = callsIn(
      started(),
      answer(0, ['a'], { createdAt: timeOf(2) }),
      toolStarted('a', 'idempotent', 1),
      toolStarted('a', 'idempotent', 2),
      result(1, 'a', { createdAt: timeOf(6) }),
    );
    expect(calls).toEqual([
      { callId: 'a', name: 'write', status: 'completed', startedAt: timeOf(4), durationMs: 2000 },
    ]);
  });

  test('D11: of two calls with one id each has its own result', () => {
    const calls = callsIn(
      started(),
      answer(0, ['a', 'a'], { createdAt: timeOf(2) }),
      result(1, 'a', { createdAt: timeOf(3) }),
      recorded(messageOf('tool', 'full', 2, { turn: 1, toolCallId: 'a', isError: true, createdAt: timeOf(4) })),
    );
    expect(calls).toMatchObject([{ status: 'completed' }, { status: 'failed', error: 'full' }]);
  });

  test('a call of an earlier turn that was started and has no result is started', () => {
    const calls = callsIn(started(), answer(0, ['a']), toolStarted('a', 'once', 1), answer(1, [], { turn: 2 }));
    expect(calls).toMatchObject([{ status: 'started', startedAt: timeOf(3) }]);
  });

  test('a result that was recorded after a later response belongs to the turn of its call', () => {
    const turns = viewOf(logOf(started(), answer(0, ['a']), answer(1, ['a'], { turn: 2 }), result(2, 'a'))).turns();
    expect(turns.map(({ calls }) => calls.map(({ status }) => status))).toEqual([['completed'], ['pending']]);
    expect(turns.map(({ toolMessages }) => toolMessages.length)).toEqual([1, 0]);
  });

  test('a call that the provider ran is listed with its end, in call order', () => {
    const ran = (callId: string, providerExecuted: object) => callOf(callId, { providerExecuted });
    const toolCalls = [ran('s', { result: 'found' }), callOf('a'), ran('t', { result: { code: 1 }, isError: true })];
    expect(callsIn(started(), answer(0, [], { toolCalls }), result(1, 'a'))).toMatchObject([
      { callId: 's', status: 'completed' },
      { callId: 'a', status: 'completed' },
      { callId: 't', status: 'failed', error: '{"code":1}' },
    ]);
  });

  test("a child conversation's turns are read by its evaluation, and an erased result keeps status and duration", () => {
    const of = { evaluationId: 'c1', conversationId: 'e1/1/a/1' };
    const log = logOf(
      started('c1', { conversationId: of.conversationId }),
      answer(0, ['x'], { ...of, createdAt: timeOf(2) }),
      toolStarted('x', 'once', 1, { evaluationId: 'c1' }),
      recorded(
        messageOf('tool', 'secret', 1, { ...of, turn: 1, toolCallId: 'x', isError: true, createdAt: timeOf(5) }),
      ),
      { type: 'message/erased', messageId: 'c1:1' },
    );
    expect(viewOf(log).turns()).toEqual([]);
    expect(viewOf(log).turns({ evaluationId: 'c1' })).toMatchObject([
      { evaluationId: 'c1', createdAt: timeOf(2), calls: [{ status: 'failed', error: '[erased]', durationMs: 2000 }] },
    ]);
  });
});
