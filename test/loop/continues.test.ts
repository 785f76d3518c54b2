import { describe, expect, test } from 'vitest';
import { type ConversationMessage, memoryStore, textOf } from '../../src/index.ts';
import { agent, call, tool } from './agent.ts';

const lines = (messages: readonly ConversationMessage[] | undefined): readonly string[] =>
  messages?.map((message) => `${message.role}: ${textOf(message)}`) ?? [];

describe('D50: many user turns are one session, one evaluation each', () => {
  test('continues: true starts with all earlier messages', async () => {
    const { session, evaluate, requests } = await agent({
      script: ({ turn, messages }) =>
        turn === 1 && messages.length < 3
          ? { text: 'Looking.', toolCalls: [call('look')] }
          : `answer ${messages.length}`,
      tools: [tool('look', () => 'seen', { effect: 'read' })],
    });
    await evaluate({ input: 'one', continues: true }); // nothing to continue yet
    await evaluate({ input: 'two', continues: true });
    await evaluate({ input: 'three', continues: true });
    expect(lines(requests.at(-1)?.messages)).toEqual([
      'system: Do it.',
      'user: one',
      'assistant: Looking.',
      'tool: seen',
      'assistant: answer 4',
      'user: two',
      'assistant: answer 6',
      'user: three',
    ]);
    const ids = session.state.record.evaluations.items.map(({ id }) => id);
    expect(session.state.record.evaluations.items.map(({ continues }) => continues)).toEqual([
      undefined,
      ids[0],
      ids[1],
    ]);
    expect(session.state.record.evaluations.items.map(({ messages }) => messages.length)).toEqual([5, 3, 3]);
  });

  test("messages with continued: true returns what an evaluation's requests are built from", async () => {
    const { session, evaluate, requests } = await agent({ script: ({ messages }) => `answer ${messages.length}` });
    const first = await evaluate({ input: 'one' });
    const second = await evaluate({ input: 'two', continues: true });
    const all = session.messages({ evaluationId: second.evaluationId, continued: true });
    expect(all.slice(0, -1)).toEqual(requests[1]?.messages);
    expect(lines(all).at(-1)).toBe('assistant: answer 4');
    expect(session.messages({ evaluationId: second.evaluationId })).toHaveLength(3);
    expect(session.messages({ evaluationId: first.evaluationId, continued: true })).toEqual(
      session.messages({ evaluationId: first.evaluationId }),
    );
    expect(session.messages({ evaluationId: 'nobody', continued: true })).toEqual([]);
  });

  test('only the newest system prompt is sent', async () => {
    const store = memoryStore();
    const first = await agent({ script: ['hi'], instructions: 'Be kind.', store });
    await first.evaluate();
    const second = await agent({ script: ['ho'], instructions: 'Be brief.', key: 'other', store });
    await second.evaluate({ continues: true, input: 'And now?' });
    expect(lines(second.requests[0]?.messages)).toEqual([
      'system: Be brief.',
      'user: Please.',
      'assistant: hi',
      'user: And now?',
    ]);
  });

  test('by id, it continues an earlier evaluation: a branch of the chat', async () => {
    const { evaluate, requests } = await agent({ script: ({ messages }) => `answer ${messages.length}` });
    const first = await evaluate({ input: 'one' });
    await evaluate({ input: 'two', continues: true });
    await evaluate({ input: 'instead', continues: first.evaluationId });
    expect(lines(requests.at(-1)?.messages)).toEqual([
      'system: Do it.',
      'user: one',
      'assistant: answer 2',
      'user: instead',
    ]);
  });

  test('open calls of the continued evaluation are repaired, and never run', async () => {
    let runs = 0;
    const { evaluate, requests, session } = await agent({
      script: ({ messages }) => (messages.length === 2 ? { toolCalls: [call('pay'), call('look')] } : 'fine'),
      tools: [tool('pay', () => ++runs, { needsApproval: true }), tool('look', () => 'seen', { effect: 'read' })],
    });
    const first = await evaluate({ input: 'pay' });
    expect(first.status).toBe('suspended');
    expect(await evaluate({ input: 'never mind', continues: true })).toMatchObject({ status: 'completed' });
    expect(lines(requests.at(-1)?.messages)).toEqual([
      'system: Do it.',
      'user: pay',
      'assistant: ',
      'tool: No result was recorded for this call. Its outcome is unknown.',
      'tool: seen',
      'user: never mind',
    ]);
    expect(runs).toBe(0);
    expect(session.state.record.evaluations.get(first.evaluationId)).toMatchObject({ status: 'superseded' });
  });

  test('a resume sends the same messages as the first request', async () => {
    const store = memoryStore();
    const options = {
      script: ({ turn }: { turn: number }) => (turn === 1 ? { toolCalls: [call('ask')] } : 'fine'),
      tools: [tool('ask', () => 'yes', { needsApproval: ({ n }: { n?: number }) => n === 1 })],
      store,
    };
    const first = await agent(options);
    await first.evaluate({ input: 'one' });
    const chat = await agent({ ...options, script: () => ({ error: { status: 400 } }) });
    await chat.evaluate({ input: 'two', continues: true, key: 'm2' });
    const resumed = await agent(options);
    await resumed.evaluate({ input: 'two', continues: true, key: 'm2', resume: 'auto' });
    expect(lines(resumed.requests[0]?.messages)).toEqual(lines(chat.requests[0]?.messages));
    expect(lines(resumed.requests[0]?.messages)).toContain('user: one');
  });

  test('without its own instructions and input, nothing is sent twice', async () => {
    const store = memoryStore();
    const first = await agent({ script: ['hi'], store });
    await first.evaluate({ input: 'one' });
    const second = await agent({
      script: [{ text: 'Looking.', toolCalls: [call('look')] }, 'ok'],
      tools: [tool('look', () => 'seen', { effect: 'read' })],
      instructions: '',
      key: 'bare',
      store,
    });
    await second.evaluate({ continues: true, input: '' });
    expect(lines(second.requests[1]?.messages)).toEqual([
      'user: one',
      'assistant: hi',
      'assistant: Looking.',
      'tool: seen',
    ]);
  });

  test('a conversation of another session cannot be continued', async () => {
    const store = memoryStore();
    const other = await agent({ script: ['hi'], store, id: 'other' });
    const { evaluationId } = await other.evaluate();
    const { evaluate } = await agent({ script: ['hi'], store });
    await expect(evaluate({ continues: evaluationId })).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
  });
});
