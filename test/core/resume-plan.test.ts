import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type PlannedCall, planResume, type ResumePlan } from '../../src/core/plan/resume-plan.ts';
import { arbitraryLog } from './arbitraries.ts';
import { answer, callOf, type Draft, logOf, refOf, result, started, toolStarted, user, viewOf } from './log.ts';

const settled = (how: object): Draft => ({ type: 'tool/settled', ...refOf('a'), how }) as Draft;
const approved: Draft = { type: 'tool/approved', ...refOf('a') };
const denied: Draft = { type: 'tool/denied', ...refOf('a'), reason: 'too dear' };
const suspended: Draft = {
  type: 'evaluation/suspended',
  evaluationId: 'e1',
  reason: 'CANCELLED',
  message: '',
  pending: [],
};

describe('D54: the plan follows from the log alone', () => {
  test.for<readonly [string, readonly Draft[], ResumePlan['do'], number | undefined]>([
    ['an empty log', [], 'nothing', undefined],
    ['a start without messages', [started()], 'call-model', 1],
    ['system and user messages', [started(), user('hi', 0)], 'call-model', 1],
    ['a response without calls', [started(), user('hi', 0), answer(1, [])], 'finish', 1],
    [
      'a response whose calls the provider ran',
      [started(), answer(0, [], { toolCalls: [callOf('a', { providerExecuted: {} })] })],
      'finish',
      1,
    ],
    ['a response that was sent back', [started(), answer(0, []), user('not so', 1)], 'call-model', 2],
    ['a response with calls', [started(), answer(0, ['a', 'b'])], 'run-calls', 1],
    ['one result of two', [started(), answer(0, ['a', 'b']), result(1, 'b')], 'run-calls', 1],
    ['a person speaks while a call is open', [started(), answer(0, ['a']), user('hurry', 1)], 'run-calls', 1],
    ['every result', [started(), answer(0, ['a', 'b']), result(1, 'b'), result(2, 'a')], 'call-model', 2],
    ['a failed result is a result', [started(), answer(0, ['a']), result(1, 'a', { isError: true })], 'call-model', 2],
    [
      'D15: the turn is counted by responses, not by messages',
      [started(), answer(0, [], { turn: 4 }), user('x', 1)],
      'call-model',
      5,
    ],
    ['D13: suspended before an answer', [started(), user('hi', 0), suspended], 'call-model', 1],
    ['D13: suspended with open calls', [started(), answer(0, ['a']), suspended], 'run-calls', 1],
    [
      'D14: completed',
      [started(), answer(0, []), { type: 'evaluation/completed', evaluationId: 'e1' }],
      'nothing',
      undefined,
    ],
    [
      'failed with an open call',
      [
        started(),
        answer(0, ['a']),
        { type: 'evaluation/failed', evaluationId: 'e1', error: { code: 'OUTPUT_INVALID', message: '' } },
      ],
      'nothing',
      undefined,
    ],
    [
      'superseded with an open call',
      [started(), answer(0, ['a']), { type: 'evaluation/superseded', evaluationId: 'e1' }],
      'nothing',
      undefined,
    ],
  ])('%s: %s', ([, drafts, wanted, turn]) => {
    const plan = planResume(logOf(...drafts));
    expect(plan.do).toBe(wanted);
    expect('turn' in plan ? plan.turn : undefined).toBe(turn);
    // A session plans the same as its log.
    expect(planResume(viewOf(logOf(...drafts)))).toEqual(plan);
  });
});

describe('D18: the action for a call without a result', () => {
  test.for<readonly [string, readonly Draft[], PlannedCall['action']]>([
    ['no trace', [], 'run'],
    ['approved', [approved], 'run'],
    ['denied', [denied], 'deny'],
    ['D67: denied, then approved', [denied, approved], 'deny'],
    ['D67: approved, then denied', [approved, denied], 'run'],
    ['D67: approved and started, then denied', [approved, toolStarted('a', 'once'), denied], 'reconcile'],
    ['D67: denied, then started by a process that had not read it', [denied, toolStarted('a', 'once')], 'reconcile'],
    ['read, started', [toolStarted('a', 'read')], 'rerun'],
    ['idempotent, started', [toolStarted('a', 'idempotent')], 'rerun'],
    ['once, started', [toolStarted('a', 'once')], 'reconcile'],
    ['of an effect that is not known here, started', [toolStarted('a', 'twice' as 'once')], 'reconcile'],
    ['once, approved and started', [approved, toolStarted('a', 'once')], 'reconcile'],
    ['once, started, a person knows the result', [toolStarted('a', 'once'), settled({ result: 'sent' })], 'settle'],
    [
      'once, started, a person knows that it failed',
      [toolStarted('a', 'once'), settled({ result: 'no', isError: true })],
      'settle',
    ],
    ['once, started, a person allows another run', [toolStarted('a', 'once'), settled({ rerun: true })], 'rerun'],
    [
      'that other run was started, too',
      [toolStarted('a', 'once'), settled({ rerun: true }), toolStarted('a', 'once', 2)],
      'reconcile',
    ],
    ['never started, a person gives the result', [settled({ result: undefined })], 'settle'],
    ['never started, a person allows a run', [settled({ rerun: true })], 'run'],
    ['denied, but a person knows the result', [denied, settled({ result: 1 })], 'settle'],
  ])('%s: %s', ([, traces, action]) => {
    const plan = planResume(logOf(started(), answer(0, ['a', 'b']), ...traces, result(1, 'b')));
    expect(plan).toMatchObject({ do: 'run-calls', calls: [{ action, call: { callId: 'a' } }] });
  });

  test('D10: calls are planned in call order, regardless of the order in which they started', () => {
    const plan = planResume(
      logOf(started(), answer(0, ['a', 'b', 'c']), toolStarted('c', 'once'), toolStarted('b', 'read')),
    );
    expect(plan.do === 'run-calls' && plan.calls.map(({ action, call }) => [call.callId, action])).toEqual([
      ['a', 'run'],
      ['b', 'rerun'],
      ['c', 'reconcile'],
    ]);
  });

  test("D11: a call with the id of an earlier turn's call is a new call", () => {
    const log = logOf(
      started(),
      answer(0, ['a']),
      toolStarted('a', 'once'),
      result(1, 'a'),
      answer(2, ['a'], { turn: 2 }),
    );
    expect(planResume(log)).toMatchObject({ turn: 2, calls: [{ action: 'run', call: { turn: 2, attempt: 0 } }] });
  });
});

describe('the planned evaluation', () => {
  const log = logOf(
    started('old'),
    started('e1'),
    answer(0, ['a']),
    started('child', { conversationId: 'e1/1/a/0', parent: refOf('a') } as object),
    { type: 'evaluation/completed', evaluationId: 'child' },
  );

  test('D52: is the newest of the main conversation; a child is resumed by the call that started it', () => {
    expect(planResume(log)).toMatchObject({ do: 'run-calls', evaluation: { id: 'e1' } });
  });

  test('is the named one', () => {
    expect(planResume(log, 'child')).toMatchObject({ do: 'nothing', evaluation: { id: 'child' } });
    expect(planResume(log, 'old')).toMatchObject({ do: 'call-model', evaluation: { id: 'old' } });
    expect(planResume(log, 'nobody')).toEqual({ do: 'nothing' });
  });
});

test('I2: no log, however contradictory, leads to a plan that runs a call with a result', () => {
  fc.assert(
    fc.property(arbitraryLog, fc.constantFrom('e1', 'e2', 'child'), (log, id) => {
      const plan = planResume(log, id);
      if (plan.do !== 'run-calls') return;
      const messages = viewOf(log).state.record.evaluations.get(id)?.messages.toArray() ?? [];
      const asked = messages.findLastIndex((message) => message.role === 'assistant');
      for (const { call } of plan.calls) {
        const answered = messages
          .slice(asked)
          .some(
            (message) => message.role === 'tool' && message.toolCallId === call.callId && message.turn === call.turn,
          );
        expect(answered).toBe(false);
      }
    }),
  );
});
