import { expect, test } from 'vitest';
import { createFold } from '../../src/core/fold/fold.ts';
import type { SessionEvent } from '../../src/core/log/events.ts';
import type { AssistantMessage, ToolMessage } from '../../src/core/log/messages.ts';
import { planResume } from '../../src/core/plan/resume-plan.ts';
import { checkCoherence } from '../../src/history/coherence/coherence.ts';

const base = {
  evaluationId: 'e',
  conversationId: 'main',
  promptNs: 'n',
  promptKey: 'k',
  createdAt: '2026-01-01T00:00:00.000Z',
  turn: 1,
};
const piece = (sequence: number, call: string, text?: string): AssistantMessage => ({
  ...base,
  id: `e:${sequence}`,
  sequence,
  role: 'assistant',
  content: text === undefined ? [] : [{ type: 'text', text }],
  toolCalls: [{ callId: call, name: 'echo', arguments: '{}' }],
  providerMessageId: 'msg_1',
});
const result = (sequence: number, call: string): ToolMessage => ({
  ...base,
  id: `e:${sequence}`,
  sequence,
  role: 'tool',
  toolCallId: call,
  toolName: 'echo',
  content: [{ type: 'text', text: call }],
  isError: false,
});
const recorded = (messages: readonly (AssistantMessage | ToolMessage)[]): readonly SessionEvent[] =>
  messages.map((message, i) => ({ seq: i + 1, at: base.createdAt, type: 'message/recorded', message }));

test('D57: messages with the same provider message id are one message, with any events between them', () => {
  const log = recorded([piece(0, 'a', 'I will.'), result(1, 'a'), piece(2, 'b', 'And.'), result(3, 'b')]);
  const fold = createFold();
  const { record } = fold.applyAll(fold.initial, log);
  expect(record).toEqual(log.reduce((state, event) => fold.apply(state, event), fold.initial).record);
  const messages = record.messages.toArray();
  expect(messages.map(({ id }) => id)).toEqual(['e:0', 'e:1', 'e:3']);
  expect(messages[0]).toMatchObject({
    content: [{ text: 'I will.' }, { text: 'And.' }],
    toolCalls: [
      { callId: 'a', after: 1 },
      { callId: 'b', after: 2 },
    ],
  });
  expect(record.evaluations.get('e')?.messages.toArray()).toEqual(messages);
  expect(checkCoherence(messages).violations).toEqual([]);
});

test('D57: a call of an earlier piece stays open, and the resume plan includes it', () => {
  const plan = planResume(recorded([piece(0, 'a'), piece(1, 'b'), result(2, 'b')]));
  expect(plan).toMatchObject({ do: 'run-calls', calls: [{ call: { callId: 'a' } }] });
});

test('a message with another provider message id is another message', () => {
  const fold = createFold();
  const log = recorded([piece(0, 'a'), result(1, 'a'), { ...piece(2, 'b'), turn: 2, providerMessageId: 'msg_2' }]);
  const { record } = log.reduce((state, event) => fold.apply(state, event), fold.initial);
  expect(record.messages.length).toBe(3);
});

test('a message without a provider message id is never joined with another', () => {
  const fold = createFold();
  const { providerMessageId: _, ...anonymous } = piece(0, 'a');
  const { record } = fold.applyAll(
    fold.initial,
    recorded([anonymous, piece(1, 'b'), { ...anonymous, id: 'e:2', sequence: 2 }]),
  );
  expect(record.messages.map(({ id }) => id)).toEqual(['e:0', 'e:1', 'e:2']);
});
