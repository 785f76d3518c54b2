/** Random conversations with few ids, so that events affect each other. */
import fc from 'fast-check';
import type { ConversationBlock, ConversationEvent } from '../../src/conversation.ts';
import { T0, T1 } from './builders.ts';

const conversation = fc.constantFrom('main', 'main', 't1', 't2', 't3', 'a1', 'agent-a1', 'a2');
const blockId = fc.constantFrom('b1', 'b2', 'b3', 'c1', 'c2', 'result:c1', 'subagent:t1');
const toolUseId = fc.constantFrom('t1', 't2', 't3', 'a1');
const callId = fc.constantFrom('c1', 'c2', 'shared');
const status = fc.constantFrom('pending', 'complete', 'error') satisfies fc.Arbitrary<ConversationBlock['status']>;
const timestamp = fc.constantFrom(T0, T1);
const words = fc.constantFrom('', ' ', 'one', 'two words', '😀', 'a\nb');
const message = fc.constantFrom(undefined, { id: 'm1', usage: { inputTokens: 1, outputTokens: 2 } }, { id: 'm2' });

function maybe<K extends string, T>(key: K, value: fc.Arbitrary<T>): fc.Arbitrary<{ readonly [P in K]?: T }> {
  return fc
    .option(value, { nil: undefined })
    .map((v) => (v === undefined ? {} : { [key]: v }) as { readonly [P in K]?: T });
}

const base = fc
  .record({ id: blockId, conversationId: conversation, timestamp, status, message })
  .map(({ message, ...rest }) => (message ? { ...rest, message } : rest));

export const block: fc.Arbitrary<ConversationBlock> = fc.oneof(
  fc
    .tuple(base, fc.constantFrom('user_message', 'assistant_text', 'assistant_text', 'thinking'), words)
    .map(([b, type, content]): ConversationBlock => ({ ...b, type: type as 'assistant_text', content })),
  fc
    .tuple(
      base,
      callId,
      maybe('input', fc.constantFrom<unknown>({ path: 'x' }, [1, { deep: true }])),
      maybe('inputText', words),
    )
    .map(
      ([b, id, input, inputText]): ConversationBlock => ({
        ...b,
        id,
        type: 'tool_use',
        toolUseId: id === 'shared' ? 'c1' : id,
        toolName: 'read',
        ...input,
        ...inputText,
      }),
    ),
  fc.tuple(base, callId, fc.boolean(), words).map(
    ([b, id, isError, output]): ConversationBlock => ({
      ...b,
      id: `result:${id}`,
      type: 'tool_result',
      toolUseId: id,
      output,
      isError,
    }),
  ),
  fc
    .tuple(base, toolUseId)
    .map(([b, id]): ConversationBlock => ({ ...b, id: `subagent:${id}`, type: 'subagent', toolUseId: id })),
  base.map((b): ConversationBlock => ({ ...b, type: 'unknown', sourceType: 'x', data: { y: [1] } })),
);

const envelope = fc.record({ conversationId: conversation, timestamp });
const agentId = maybe('agentId', fc.constantFrom('a1', 'agent-a2', 't2', 'main'));

function delta(offset: fc.Arbitrary<{ readonly offset?: number }>): fc.Arbitrary<ConversationEvent> {
  return fc
    .tuple(envelope, blockId, words, offset)
    .map(([e, id, text, at]): ConversationEvent => ({ ...e, type: 'block:delta', blockId: id, delta: text, ...at }));
}

function event(deltas: fc.Arbitrary<ConversationEvent>): fc.Arbitrary<ConversationEvent> {
  return fc.oneof(
    {
      weight: 6,
      arbitrary: fc
        .tuple(envelope, block)
        .map(([e, b]): ConversationEvent => ({ ...e, type: 'block:upsert', block: b })),
    },
    { weight: 4, arbitrary: deltas },
    {
      weight: 1,
      arbitrary: fc
        .tuple(envelope, blockId)
        .map(([e, id]): ConversationEvent => ({ ...e, type: 'block:removed', blockId: id })),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(
          envelope,
          toolUseId,
          agentId,
          maybe('prompt', words),
          maybe('subagentType', words),
          maybe('description', words),
        )
        .map(
          ([e, id, ...rest]): ConversationEvent =>
            Object.assign({ ...e, type: 'subagent:spawned' as const, toolUseId: id }, ...rest),
        ),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(
          envelope,
          toolUseId,
          agentId,
          fc.constantFrom('completed', 'error', 'failed'),
          maybe('output', words),
          maybe('durationMs', fc.nat(9)),
        )
        .map(
          ([e, id, agent, how, ...rest]): ConversationEvent =>
            Object.assign(
              { ...e, type: 'subagent:completed' as const, toolUseId: id, status: how as 'failed' },
              agent,
              ...rest,
            ),
        ),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(envelope, maybe('reason', fc.constantFrom('completed', 'interrupted', 'failed')))
        .map(
          ([e, reason]): ConversationEvent => ({ ...e, type: 'session:idle', ...(reason as { reason?: 'failed' }) }),
        ),
    },
  );
}

/** Any event. Its deltas may have no offset, so it need not be repeatable. */
export const anyEvent: fc.Arbitrary<ConversationEvent> = event(delta(maybe('offset', fc.nat(12))));

/** Events that may be delivered twice in a row: every delta carries its offset (D42). */
export const repeatableEvent: fc.Arbitrary<ConversationEvent> = event(delta(fc.nat(12).map((offset) => ({ offset }))));
