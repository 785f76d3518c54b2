import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ConversationEvent,
  createConversationState,
  fromEnvelope,
  isConversationEvent,
  reduceConversationEvents,
} from '../../src/conversation.ts';
import { anyEvent } from '../conversation/arbitraries.ts';
import {
  call,
  completed,
  delta,
  idle,
  result,
  spawned,
  stateAfter,
  T0,
  text,
  upsert,
} from '../conversation/builders.ts';

/** An event as an application sends it: the conversation of a spawn and all times are in the context. */
function enveloped({ type, conversationId, timestamp, ...payload }: ConversationEvent): unknown {
  return { type, payload, context: { sessionId: 's1', conversationId, timestamp } };
}

describe('events in an envelope', () => {
  test('reduce to the state of the same events without one', () => {
    const events = [
      upsert(text('a', '', { status: 'pending' })),
      delta('a', 'Hello'),
      upsert(call('c')),
      upsert(result('c')),
      spawned('t1', { prompt: 'Look', subagentType: 'explorer' }),
      spawned('t2', { conversationId: 't1' }),
      upsert(text('x', 'y'), 't1'),
      completed('t1', { agentId: 'a1', output: 'Found' }),
      idle(),
    ];
    const converted = events.map((event) => fromEnvelope(enveloped(event)));
    expect(converted).toEqual(events);
    expect(JSON.stringify(stateAfter(...converted))).toBe(JSON.stringify(stateAfter(...events)));
  });

  test('the conversation of the payload is used before that of the context', () => {
    const event = { type: 'session:idle', payload: { conversationId: 't1' }, context: { conversationId: 'main' } };
    expect(fromEnvelope(event)).toEqual({ type: 'session:idle', conversationId: 't1', timestamp: '' });
  });

  test('an event without an envelope stays the same object', () => {
    const event = upsert(text('a', 'b'));
    expect(fromEnvelope(event)).toBe(event);
  });

  test.for([
    ['running', 'pending'],
    ['success', 'complete'],
    ['error', 'error'],
  ] as const)('a block that is %s becomes %s (D37)', ([status, expected]) => {
    const block = { ...text('a', 'b'), status };
    const state = stateAfter(fromEnvelope({ type: 'block:upsert', payload: { block }, context: { timestamp: T0 } }));
    expect(state.blocks.at(0)).toMatchObject({ id: 'a', status: expected });
  });

  test('an event of another type becomes an unknown block, the same one when it is delivered again', () => {
    const event = { type: 'file:changed', payload: { path: '/a' }, context: { timestamp: T0, conversationId: 't1' } };
    const state = reduceConversationEvents(createConversationState(), [fromEnvelope(event), fromEnvelope(event)]);
    expect(state.subagents[0]?.blocks.toJSON()).toEqual([
      {
        id: `event:file:changed:${T0}`,
        conversationId: 't1',
        timestamp: T0,
        status: 'complete',
        type: 'unknown',
        sourceType: 'file:changed',
        data: event,
      },
    ]);
  });

  test('whatever is passed, the result is an event, and nothing is thrown', () => {
    const envelope = fc.record({ type: fc.anything(), payload: fc.anything(), context: fc.anything() });
    const valid = anyEvent.map((event) => ({ type: event.type, payload: event, context: { timestamp: T0 } }));
    fc.assert(
      fc.property(fc.oneof(fc.anything(), envelope, valid), (value) => {
        const event = fromEnvelope(value);
        expect(isConversationEvent(event)).toBe(true);
        stateAfter(event);
      }),
    );
  });
});
