import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { definePrompt } from '../../src/evaluate.ts';
import { memoryStore, openSession, type ScriptedTurn } from '../../src/index.ts';
import { rejection } from '../session/log-of.ts';
import { agent, call, eventTypes, said, tool } from './agent.ts';

/** Two turns, the first of which waits for a person: an evaluation that is open in the middle. */
const script: readonly ScriptedTurn[] = [{ toolCalls: [call('ask')] }, 'ok'];
const ask = (): ReturnType<typeof tool> => tool('ask', () => 'yes', { needsApproval: true });

async function suspended(more: Partial<Parameters<typeof agent>[0]> = {}): Promise<Awaited<ReturnType<typeof agent>>> {
  const first = await agent({ script, tools: [ask()], ...more });
  expect(await first.evaluate()).toMatchObject({ status: 'suspended', reason: 'APPROVAL_REQUIRED' });
  return first;
}

describe('D2: the evaluation to continue', () => {
  test('false, the default: a new one, and the open one of this prompt is superseded', async () => {
    const { session, evaluate } = await suspended();
    const before = session.latestEvaluation()?.id ?? '';
    const response = await evaluate();
    expect(response.evaluationId).not.toBe(before);
    expect(session.state.record.evaluations.get(before)).toMatchObject({ status: 'superseded' });
    const superseded = [];
    for await (const event of session.events()) if (event.type === 'evaluation/superseded') superseded.push(event);
    expect(superseded).toMatchObject([{ evaluationId: before, by: response.evaluationId }]);
  });

  test('a new one does not affect the open evaluation of another prompt', async () => {
    const { session, store } = await suspended();
    const before = session.latestEvaluation()?.id ?? '';
    const other = await agent({ script: ['hi'], key: 'other', store });
    await other.evaluate();
    expect(other.session.state.record.evaluations.get(before)).toMatchObject({ status: 'suspended' });
  });

  test.for([
    ['true', true],
    ['auto', 'auto'],
  ] as const)('%s: the open one', async ([, resume]) => {
    const first = await suspended();
    const { evaluationId } = first.session.latestEvaluation() ? await first.evaluate({ resume }) : { evaluationId: '' };
    expect(first.session.state.record.evaluations.length).toBe(1);
    expect(evaluationId).toBe(first.session.latestEvaluation()?.id);
    expect(first.requests).toHaveLength(1);
  });

  test('by id: that one, also when it is not the newest', async () => {
    const store = memoryStore();
    const chat = await agent({ script: ({ prompt }) => `I am ${prompt.key}`, key: 'chat', store });
    const old = await chat.evaluate({ input: 'first' });
    await chat.evaluate({ input: 'second' });
    const again = await chat.evaluate({ resume: { evaluationId: old.evaluationId } });
    expect(again).toEqual(old);
    expect(chat.requests).toHaveLength(2);
  });

  test('auto with other input: a new one, and the open one is superseded', async () => {
    const { session, evaluate } = await suspended();
    await evaluate({ resume: 'auto', input: 'Something else.' });
    const statuses = session.state.record.evaluations.items.map((evaluation) => evaluation.status);
    expect(statuses).toEqual(['superseded', 'suspended']);
  });

  test('auto without any evaluation: a new one', async () => {
    const { evaluate } = await agent({ script: ['hi'] });
    expect(await evaluate({ resume: 'auto' })).toMatchObject({ status: 'completed', text: 'hi' });
  });

  test('auto after a failure: a new one', async () => {
    let answer = 'not JSON';
    const { evaluate } = await agent({ script: () => answer, output: z.object({ n: z.number() }) });
    await expect(evaluate({ outputRetries: 0 })).rejects.toMatchObject({ code: 'OUTPUT_INVALID' });
    answer = '{"n":1}';
    expect(await evaluate({ resume: 'auto' })).toMatchObject({ output: { n: 1 } });
  });

  test('a key distinguishes equal inputs', async () => {
    const { session, evaluate, requests } = await agent({ script: ['hi'] });
    const ids = [];
    for (const key of ['a', 'b', 'b', undefined])
      ids.push((await evaluate({ resume: 'auto', ...(key && { key }) })).evaluationId);
    expect(new Set(ids).size).toBe(3);
    expect(ids[1]).toBe(ids[2]);
    expect(requests).toHaveLength(3);
    expect(session.state.record.evaluations.items.map(({ key }) => key)).toEqual(['a', 'b', undefined]);
  });

  test('input of the same parts is equal, in any order of their fields', async () => {
    const { evaluate, requests } = await agent({ script: ['hi'] });
    await evaluate({ resume: 'auto', input: [{ type: 'text', text: 'a' }] });
    await evaluate({ resume: 'auto', input: [{ text: 'a', type: 'text' }] });
    expect(requests).toHaveLength(1);
    await evaluate({ resume: 'auto', input: 'a' }); // a string is not a list of parts
    expect(requests).toHaveLength(2);
  });

  test.for([
    [true, /no evaluation of test\/agent to resume; use resume: 'auto'/],
    [{ evaluationId: 'ev_none' }, /no evaluation ev_none; session\.latestEvaluation\(\)/],
  ] as const)('nothing to resume (%o): CONVERSATION_NOT_FOUND', async ([resume, message]) => {
    const { session, evaluate, requests } = await agent({ script: ['hi'] });
    await expect(evaluate({ resume })).rejects.toMatchObject({
      code: 'CONVERSATION_NOT_FOUND',
      message: expect.stringMatching(message),
    });
    expect(requests).toEqual([]);
    expect(session.seq).toBe(0);
    expect(await evaluate()).toMatchObject({ status: 'completed' }); // the lease was released
  });

  test('resume: true with an evaluation of another prompt open: PROMPT_MISMATCH, naming both', async () => {
    const { session, evaluate, adapter } = await suspended();
    const id = session.latestEvaluation()?.id ?? '';
    const other = definePrompt({ ns: 'test', key: 'other', instructions: 'Be brief.' });
    await expect(adapter.evaluate(other, { session, resume: true })).rejects.toMatchObject({
      code: 'PROMPT_MISMATCH',
      message: expect.stringMatching(new RegExp(`evaluation ${id} of test/agent is open, and this is test/other`)),
    });
    expect(await evaluate({ resume: true })).toMatchObject({ evaluationId: id });
  });

  test('resume: true whose own evaluation was abandoned names the open one of another prompt, too', async () => {
    const { session, adapter } = await suspended();
    await session.abandon();
    const other = definePrompt({ ns: 'test', key: 'other', instructions: 'Be brief.', tools: [ask()] });
    const { evaluationId } = await adapter.evaluate(other, { session, input: 'Go.' });
    const own = definePrompt({ ns: 'test', key: 'agent', instructions: 'Do it.', tools: [ask()] });
    await expect(adapter.evaluate(own, { session, resume: true })).rejects.toMatchObject({
      code: 'PROMPT_MISMATCH',
      message: expect.stringContaining(`evaluation ${evaluationId} of test/other is open, and this is test/agent`),
    });
  });

  test('one that was superseded cannot be resumed', async () => {
    const { session, evaluate } = await suspended();
    const evaluationId = session.latestEvaluation()?.id ?? '';
    await evaluate();
    await expect(evaluate({ resume: { evaluationId } })).rejects.toMatchObject({
      code: 'CONVERSATION_NOT_FOUND',
      message: expect.stringContaining('superseded'),
    });
  });

  test('adapter state is ignored by an adapter that stores everything in the log', async () => {
    const { evaluate } = await agent({ script: ['hi'] });
    await expect(evaluate({ resume: { adapterState: { adapterType: 'x' } } })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});

describe('D14: a completed evaluation returns its recorded response', () => {
  test.for([true, 'auto'] as const)('resume: %s sends no request', async (resume) => {
    const first = await agent({ script: ['forty-two'], output: z.string().or(z.number()) });
    const original = await agent({ script: ['42'], output: z.number(), store: first.store, id: 'numbers' });
    const answer = await original.evaluate();
    const second = await agent({ script: [], output: z.number(), store: first.store, id: 'numbers' });
    expect(await second.evaluate({ resume })).toEqual(answer);
    expect(answer).toMatchObject({ status: 'completed', text: '42', output: 42, turns: 1 });
    expect(second.requests).toEqual([]);
    expect(second.session.seq).toBe(original.session.seq);
  });

  test('a failed one fails again, with the same code', async () => {
    const { evaluate, requests } = await agent({ script: ['nonsense'], output: z.number() });
    await expect(evaluate({ outputRetries: 0 })).rejects.toMatchObject({ code: 'OUTPUT_INVALID' });
    await expect(evaluate({ resume: true })).rejects.toMatchObject({
      code: 'OUTPUT_INVALID',
      message: expect.stringContaining('start a new one'),
    });
    expect(requests).toHaveLength(1);
  });

  test('a response that no longer fits the schema is an error that states it', async () => {
    const first = await agent({ script: ['1'], output: z.number() });
    await first.evaluate();
    const second = await agent({ script: [], output: z.object({ n: z.number() }), store: first.store });
    await expect(second.evaluate({ resume: true })).rejects.toMatchObject({ code: 'OUTPUT_INVALID' });
  });
});

describe('D4: a changed prompt', () => {
  const renamed = tool('ask', () => 'yes', { needsApproval: true, input: z.object({ why: z.string() }) });
  test.for([
    ['instructions', { instructions: 'Do it differently.' }],
    ['a tool’s schema', { tools: [renamed] }],
    ['a tool less', { tools: [] }],
    ['a tool more', { tools: [ask(), tool('more', () => '')] }],
  ] as const)(
    '%s: strict rejects and changes nothing, relaxed continues with the recorded system message',
    async ([, change]) => {
      const first = await suspended();
      const { seq } = first.session;
      const second = await agent({ script, tools: [ask()], store: first.store, ...change });
      await expect(second.evaluate({ resume: true })).rejects.toMatchObject({
        code: 'PROMPT_MISMATCH',
        message: expect.stringMatching(/instructions or tools have changed.*relaxed.*settle its open calls/),
      });
      expect(second.session.seq).toBe(seq);
      const response = await second.evaluate({ resume: true, promptValidation: 'relaxed' });
      expect(said(second.session)[0]).toBe('system: Do it.');
      expect(['completed', 'suspended']).toContain(response.status);
    },
  );

  test('another description or another order of tools is the same prompt', async () => {
    const more = tool('more', () => '');
    const first = await suspended({ tools: [ask(), more] });
    const described = { ...ask(), description: 'Asks, politely' };
    const second = await agent({ script, tools: [more, described], store: first.store });
    expect(await second.evaluate({ resume: true })).toMatchObject({ reason: 'APPROVAL_REQUIRED' });
  });

  test('bound parameters are not compared: a date in the text must not break a resume', async () => {
    const instructions = 'Today is {{date}}. Do it.';
    const first = await agent({ script, tools: [ask()], instructions });
    await first.evaluate({ params: { date: 'Monday' } });
    const second = await agent({ script, tools: [ask()], instructions, store: first.store });
    await second.evaluate({ resume: true, params: { date: 'Tuesday' } });
    expect(said(second.session)[0]).toBe('system: Today is Monday. Do it.');
  });

  test('the error for another prompt names both and the possible actions', async () => {
    const first = await suspended();
    const evaluationId = first.session.latestEvaluation()?.id ?? '';
    const other = await agent({ script, key: 'other', store: first.store });
    const error = await rejection(other.evaluate({ resume: { evaluationId } }));
    expect(error.message).toMatch(/started by test\/agent, not test\/other; resume it with test\/agent/);
    expect(error.message).not.toContain('relaxed');
    const right = await agent({ script, tools: [ask()], store: first.store });
    expect(await right.evaluate({ resume: { evaluationId } })).toMatchObject({ evaluationId });
  });

  test('another prompt for the same id is rejected even when relaxed', async () => {
    const first = await suspended();
    const evaluationId = first.session.latestEvaluation()?.id ?? '';
    const other = await agent({ script, key: 'other', store: first.store });
    await expect(other.evaluate({ resume: { evaluationId }, promptValidation: 'relaxed' })).rejects.toMatchObject({
      code: 'PROMPT_MISMATCH',
    });
  });
});

describe('parameters', () => {
  test('are bound in the instructions', async () => {
    const { session, evaluate } = await agent({ script: ['hi'], instructions: 'Be {{ mood }}, {{name}}. {{name}}!' });
    await evaluate({ params: { mood: 'kind', name: 7 } });
    expect(said(session)[0]).toBe('system: Be kind, 7. 7!');
  });

  test('that are missing are an error that names them, before anything is recorded', async () => {
    const { session, evaluate } = await agent({ script: ['hi'], instructions: 'Be {{mood}} and {{tone}}.' });
    await expect(evaluate({ params: { mood: 'kind' } })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/needs params: tone/),
    });
    expect(session.seq).toBe(0);
  });
});

test('D13: latest means by log position, for that prompt', async () => {
  const store = memoryStore();
  const a = await agent({ script: ['from a'], key: 'a', store });
  const b = await agent({ script: ['from b'], key: 'b', store });
  const first = await a.evaluate();
  await b.evaluate();
  expect(await a.evaluate({ resume: true })).toMatchObject({ evaluationId: first.evaluationId, text: 'from a' });
});

test('without a session the conversation is in memory', async () => {
  const { adapter, prompt } = await agent({ script: ['hi'] });
  expect(await adapter.evaluate(prompt)).toMatchObject({
    status: 'completed',
    text: 'hi',
    sessionId: expect.any(String),
  });
});

test('a read-only session is rejected, and its lease is free again', async () => {
  const { store, evaluate, session, adapter, prompt } = await agent({ script: ['hi'] });
  await evaluate();
  const readOnly = await openSession({ store, id: session.id, readOnly: true });
  await expect(adapter.evaluate(prompt, { session: readOnly })).rejects.toMatchObject({ code: 'SESSION_READ_ONLY' });
  expect(await evaluate()).toMatchObject({ status: 'completed' });
});

describe('invalid options are rejected before anything is recorded', () => {
  test.for([
    { deadline: new Date('never') },
    { deadline: Number.NaN },
    { maxTurns: Number.NaN },
    { maxTurns: -1 },
    { maxParallelCalls: 0 },
    { maxParallelCalls: Number.NaN },
    { outputRetries: -1 },
    { budget: { maxTokens: Number.NaN } },
    { continues: 'ev_none' },
  ])('%o', async (options) => {
    const { session, evaluate } = await agent({ script: ['hi'] });
    await expect(evaluate(options)).rejects.toMatchObject({
      code: 'continues' in options ? 'CONVERSATION_NOT_FOUND' : 'INVALID_ARGUMENT',
    });
    expect(session.seq).toBe(0);
  });
});

test('D7: the start is one append: the evaluation, its system message and its user message', async () => {
  const { session, evaluate } = await agent({ script: ['hi'] });
  await evaluate();
  expect(await eventTypes(session)).toEqual([
    'evaluation/started',
    'message/recorded',
    'message/recorded',
    'message/recorded',
    'evaluation/completed',
  ]);
});
