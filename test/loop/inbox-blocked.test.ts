/** The inbox of a session whose evaluation was stopped, has failed or waits for a person (D61, D73). */
import { describe, expect, test } from 'vitest';
import { type CallRef, memoryStore, textOf } from '../../src/index.ts';
import { call, deferred, eventTypes, tool, toolUntilAborted } from './agent.ts';
import { answering, chat, ECHO, isUser, WORK_FIRST } from './chat-agent.ts';

describe('after a stop', () => {
  test('a message that is sent after a cancellation supersedes the evaluation; its open calls are closed as stopped', async () => {
    const began = deferred();
    const work = tool('work', (_, { signal }) => {
      began.resolve();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    let asked = 0;
    const { session, run, said, requests } = await chat({
      tools: [work],
      script: () => (++asked === 1 ? { toolCalls: [call('work', {}, 'w')] } : 'Sorry.'),
    });
    await session.send('Work.');
    await session.send('Queued before the stop.');
    const running = run();
    await began.promise;
    await session.cancel({ by: 'ada' });
    expect(await running).toMatchObject({ status: 'suspended', responses: [{ reason: 'CANCELLED' }] });
    expect(await run()).toMatchObject({ status: 'suspended', responses: [{ reason: 'CANCELLED' }] });
    expect(session.summary?.work).toBeUndefined();
    const sent = await session.send('Do not do that.', { mode: 'steer' });
    expect(sent.waitsFor).toBeUndefined();
    expect(session.summary?.work).toBe('input');
    expect(await run()).toMatchObject({ status: 'idle', responses: [{ text: 'Sorry.' }, { text: 'Sorry.' }] });
    expect(said()).toEqual([
      'user: Work.',
      'assistant: ',
      'tool: The user stopped this before its result was recorded. It may have taken effect.',
      'user: Queued before the stop.',
      'assistant: Sorry.',
      'user: Do not do that.',
      'assistant: Sorry.',
    ]);
    expect(requests).toHaveLength(3);
    expect((await eventTypes(session)).filter((type) => type === 'evaluation/superseded')).toHaveLength(1);
  });

  test('a call that a person settled before the cancellation keeps that result', async () => {
    const store = memoryStore();
    const pay = tool('pay', () => 'paid', { effect: 'once', needsApproval: true });
    const { session, run, said } = await chat({
      store,
      tools: [pay],
      script: ({ turn, messages }) =>
        turn === 1 && messages.filter(isUser).length === 1 ? { toolCalls: [call('pay', {}, 'p')] } : 'ok',
    });
    await session.send('Pay.');
    const [response] = (await run()).responses;
    await session.settle(response?.pending[0] as CallRef, { result: 'paid by hand' });
    await session.cancel();
    await session.send('Thank you.');
    await run();
    expect(said()).toContain('tool: paid by hand');
  });

  test('a message that is sent after an aborted signal does the same; resumeCancelled resumes it instead', async () => {
    for (const resumeCancelled of [false, true]) {
      const controller = new AbortController();
      const { work, began, runs } = toolUntilAborted();
      const { session, run } = await chat({ tools: [work], script: WORK_FIRST });
      await session.send('Work.');
      const running = run({ signal: controller.signal });
      await began;
      controller.abort();
      expect(await running).toMatchObject({ status: 'suspended', responses: [{ reason: 'CANCELLED' }] });
      await session.send('Next.');
      expect(session.summary?.work).toBe('input');
      const { status, responses } = await run({ resumeCancelled });
      expect(status).toBe('idle');
      const texts = responses.map(({ text }) => text);
      expect(texts).toEqual(resumeCancelled ? ['You said: Work.', 'You said: Next.'] : ['You said: Next.']);
      expect(runs()).toBe(resumeCancelled ? 2 : 1);
    }
  });

  test('resume continues a cancelled evaluation', async () => {
    const began = deferred();
    const { session, run } = await chat({
      script: answering(async (asked, signal) => {
        if (asked > 1) return 'ok';
        began.resolve();
        return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
      }),
    });
    await session.send('Go.');
    const running = run();
    await began.promise;
    await session.cancel();
    await running;
    await session.resume({ by: 'ada' });
    expect(session.summary?.work).toBe('resume');
    expect(await run()).toMatchObject({ status: 'idle', responses: [{ status: 'completed', text: 'ok' }] });
    await expect(session.resume()).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
  });
});

test('of a request to resume and one to cancel, the later one applies', async () => {
  const { session, run } = await chat({
    adapter: { maxModelRetries: 0 },
    script: (request) => (failures-- > 0 ? { error: { status: 500 } } : ECHO(request)),
  });
  let failures = 1;
  await session.send('Go.');
  await run();
  await session.resume();
  await session.cancel();
  expect(session.summary?.work).toBeUndefined();
  expect(await run()).toMatchObject({ status: 'suspended', responses: [{ reason: 'CANCELLED' }] });
  await session.resume();
  expect(session.summary?.work).toBe('resume');
  expect(await run()).toMatchObject({ status: 'idle', responses: [{ text: 'You said: Go.' }] });
});

describe('what blocks the queue', () => {
  test('a failed evaluation, until it is abandoned; the next input continues the evaluation before it', async () => {
    const { session, run, said } = await chat({
      script: ({ messages }) => {
        const text = textOf(messages.findLast(isUser) as never);
        if (text === 'Break.') return { text: '', toolCalls: [] };
        return `You said: ${text}`;
      },
      tools: [],
    });
    await session.send('Hello.');
    await run();
    await session.append([
      {
        type: 'evaluation/started',
        evaluationId: 'bad',
        conversationId: 'main',
        promptNs: 'test',
        promptKey: 'agent',
        promptHash: 'x',
        inputHash: 'x',
        continues: session.latestEvaluation()?.id,
      },
      { type: 'evaluation/failed', evaluationId: 'bad', error: { code: 'OUTPUT_INVALID', message: 'no' } },
    ]);
    await session.send('Still there?', { id: 'm' });
    expect(session.queue()).toMatchObject([{ id: 'm', waitsFor: 'EVALUATION_FAILED' }]);
    expect(await run()).toMatchObject({ status: 'failed', responses: [], error: { code: 'OUTPUT_INVALID' } });
    expect(session.summary?.work).toBeUndefined();
    await session.abandon({ by: 'ada', reason: 'it is broken' });
    expect(session.summary?.work).toBe('input');
    expect(await run()).toMatchObject({ status: 'idle', responses: [{ text: 'You said: Still there?' }] });
    expect(said()).toEqual([
      'user: Hello.',
      'assistant: You said: Hello.',
      'user: Still there?',
      'assistant: You said: Still there?',
    ]);
    await expect(session.abandon()).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
  });

  test('an evaluation that fails while it runs is the result, with its error', async () => {
    const { z } = await import('zod');
    const { session, run } = await chat({ script: () => 'not JSON', output: z.object({ a: z.number() }) });
    await session.send('Go.');
    expect(await run()).toMatchObject({ status: 'failed', error: { code: 'OUTPUT_INVALID' } });
  });

  test('a provider that refuses every request gets one request per run; abandoning the evaluation unblocks the queue', async () => {
    const { session, run, requests } = await chat({
      adapter: { maxModelRetries: 0 },
      script: ({ messages }) => {
        const text = textOf(messages.findLast(isUser) as never);
        return text === 'Refused.' ? { error: { status: 500 } } : `You said: ${text}`;
      },
    });
    await session.send('Refused.');
    await session.send('Next.');
    expect(await run()).toMatchObject({ status: 'suspended', responses: [{ reason: 'PROVIDER_FAILED' }] });
    expect(await run()).toMatchObject({ status: 'suspended', responses: [{ failure: { status: 500 } }] });
    expect(requests).toHaveLength(2);
    await session.abandon();
    expect(await run()).toMatchObject({ status: 'idle', responses: [{ text: 'You said: Next.' }] });
  });

  test("resume raises a budget for the rest of the evaluation, over the runner's limit", async () => {
    const work = tool('work', () => 'worked', { effect: 'idempotent' });
    const { session, run } = await chat({
      tools: [work],
      script: ({ turn }) => (turn < 4 ? { toolCalls: [call('work')] } : 'done'),
    });
    await session.send('Work.');
    expect(await run({ maxTurns: 2 })).toMatchObject({ status: 'suspended', responses: [{ reason: 'TURN_LIMIT' }] });
    await session.resume({ raise: { maxTurns: 10 } });
    expect(await run({ maxTurns: 2 })).toMatchObject({ status: 'idle', responses: [{ text: 'done' }] });
    await expect(session.resume({ raise: { budget: { maxTokens: -1 } } })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});
