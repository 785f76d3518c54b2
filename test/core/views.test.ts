import { describe, expect, test } from 'vitest';
import { getConversationState, getLatestEvaluation, getMessages, getPendingToolCalls } from '../../src/core/views.ts';
import {
  answer,
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

describe('getMessages', () => {
  test.for([
    [undefined, ['e1:0', 'e1:1', 'e1:2', 'e2:0', 'e2:1', 'e2:2']],
    ['e1', ['e1:0', 'e1:1', 'e1:2']],
    ['child', ['child:0']],
    ['nobody', []],
  ] as const)('of %s: %s, in log order', ([evaluationId, ids]) => {
    expect(getMessages(session, evaluationId).map((message) => message.id)).toEqual(ids);
  });

  test('D12: in log order, even if ids and times have another order', () => {
    const log = logOf(
      user('late', 0, { evaluationId: 'z', createdAt: timeOf(9) }),
      user('early', 0, { evaluationId: 'a', createdAt: timeOf(1) }),
    );
    expect(getMessages(viewOf(log)).map((message) => message.evaluationId)).toEqual(['z', 'a']);
  });

  test('of messages without a start, by their evaluation id', () => {
    expect(getMessages(viewOf(logOf(user('imported', 0))), 'e1')).toHaveLength(1);
  });
});

describe('getLatestEvaluation', () => {
  test.for([
    ['anything', undefined, 'e2'],
    ['its prompt', { ns: 'ns', key: 'key' }, 'e1'],
    ['its namespace', { ns: 'ns' }, 'e2'],
    ['a child conversation', { conversationId: 'e2/1/a/0' }, 'child'],
    ['a prompt that never ran', { key: 'never' }, undefined],
  ] as const)('D13: the newest by log position, of %s', ([, wanted, id]) => {
    expect(getLatestEvaluation(session, wanted)?.id).toBe(id);
  });

  test('is undefined for an empty session', () => {
    expect(getLatestEvaluation(empty)).toBeUndefined();
  });
});

describe('getPendingToolCalls', () => {
  test('D8: returns the calls without a result, in call order, with their state', () => {
    expect(getPendingToolCalls(session)).toMatchObject([
      { callId: 'a', status: 'started', effect: 'idempotent', attempt: 1 },
      { callId: 'b', status: 'pending', attempt: 0 },
    ]);
  });

  test.for([
    ['e1', 0],
    ['e2', 2],
    ['nobody', 0],
  ] as const)('of %s: %i', ([id, count]) => {
    expect(getPendingToolCalls(session, id)).toHaveLength(count);
    expect(getPendingToolCalls(empty, id)).toEqual([]);
  });
});

describe('getConversationState', () => {
  test('D1: returns an evaluation as turns, with its first messages', () => {
    const state = getConversationState(session, 'e1');
    expect(state).toMatchObject({
      evaluationId: 'e1',
      promptNs: 'ns',
      promptKey: 'key',
      status: 'completed',
      createdAt: timeOf(1),
    });
    expect(state?.systemMessage?.id).toBe('e1:0');
    expect(state?.userMessages.map((message) => message.id)).toEqual(['e1:1']);
    expect(state?.turns).toMatchObject([{ turnNumber: 1, assistantMessage: { id: 'e1:2' }, toolMessages: [] }]);
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
    const state = getConversationState(viewOf(log));
    expect(state?.turns.map((turn) => turn.toolMessages.map((message) => message.toolCallId))).toEqual([
      ['a', 'b', 'c'],
      [],
    ]);
    expect(state?.turns.map((turn) => turn.turnNumber)).toEqual([1, 2]);
  });

  test('is that of the newest evaluation unless one is named, and undefined when there is none', () => {
    expect(getConversationState(session)?.evaluationId).toBe('e2');
    expect(getConversationState(session)).not.toHaveProperty('systemMessage');
    expect(getConversationState(session, 'nobody')).toBeUndefined();
    expect(getConversationState(empty)).toBeUndefined();
  });
});
