import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createConversationState, messagesToEvents, reduceConversationEvents } from '../../src/conversation.ts';
import { definePrompt } from '../../src/evaluate.ts';
import type { CallRef, SessionEvent } from '../../src/index.ts';
import { type Agent, agent, call, eventTypes, resultText, tool } from './agent.ts';

const DECIDED = { code: 'CALL_DECIDED' };

const script = [{ toolCalls: [call('deploy'), call('look')] }, 'ok'];

/** An agent whose first call waits for approval. */
async function waiting(runs: string[] = []): Promise<Agent & { readonly pending: CallRef }> {
  const agents = await agent({
    script,
    tools: [
      tool('deploy', (_, { callId }) => `deployed ${runs.push(callId)}`, { needsApproval: true }),
      tool('look', () => 'seen', { effect: 'read' }),
    ],
  });
  const response = await agents.evaluate();
  expect(response).toMatchObject({ status: 'suspended', reason: 'APPROVAL_REQUIRED' });
  expect(response.message).toMatch(/session\.approve or session\.deny, then run again/);
  const [pending] = response.pending;
  expect(pending).toEqual({ evaluationId: response.evaluationId, turn: 1, callId: 'call_1_1', attempt: 0 });
  return { ...agents, pending: pending as CallRef };
}

/** An agent whose call was started by a process that was killed. */
async function unknown(runs: string[] = []): Promise<Agent & { readonly pending: CallRef }> {
  const pay = tool('deploy', (_, { callId }) => (runs.push(callId) === 1 ? new Promise(() => {}) : 'deployed again'));
  const tools = [pay, tool('look', () => 'seen', { effect: 'read' })];
  const first = await agent({ script, tools });
  void first.evaluate();
  while (resultText(first.session, 'call_1_2') === undefined) await setImmediate();
  await first.store.releaseLease('session', (await first.store.readLease('session'))?.fence ?? 0);
  const second = await agent({ script, tools, store: first.store });
  const response = await second.evaluate({ resume: true });
  expect(response).toMatchObject({ status: 'suspended', reason: 'TOOL_OUTCOME_UNKNOWN' });
  return { ...second, pending: response.pending[0] as CallRef };
}

test.for([{ result: 'paid' }, { rerun: true }] as const)(
  'the person who settled a call with %j is recorded, and shown in its notice (D67)',
  async (how) => {
    const { session, pending } = await unknown();
    await session.settle(pending, how, { by: 'Ann' });
    const events: SessionEvent[] = [];
    for await (const event of session.events()) events.push(event);
    expect(events.findLast(({ type }) => type === 'tool/settled')).toMatchObject({ how, by: 'Ann' });
    const state = reduceConversationEvents(createConversationState(), messagesToEvents(events));
    const notices = state.blocks.filter((block) => block.type === 'system' && block.subtype === 'settled');
    expect(notices).toMatchObject([{ data: { by: 'Ann' } }]);
  },
);

describe('approval', () => {
  test('siblings that need none run first; the evaluation is suspended durably', async () => {
    const runs: string[] = [];
    const { session, store } = await waiting(runs);
    expect(runs).toEqual([]);
    expect(resultText(session, 'call_1_2')).toBe('seen');
    expect(await store.readLease('session')).toBeUndefined();
    expect(session.pending()).toMatchObject([{ callId: 'call_1_1', name: 'deploy', status: 'pending' }]);
  });

  test('approved: another process continues, and the call runs once', async () => {
    const runs: string[] = [];
    const { session, pending, evaluate } = await waiting(runs);
    await session.approve(pending);
    await expect(session.approve(pending)).rejects.toMatchObject(DECIDED); // D67
    expect(await evaluate({ resume: 'auto' })).toMatchObject({ status: 'completed', text: 'ok' });
    expect(runs).toEqual(['call_1_1']);
    expect((await eventTypes(session)).filter((type) => type === 'tool/approved')).toHaveLength(1);
  });

  test.for([
    [undefined, 'This call was denied.'],
    ['on a Friday?', 'This call was denied: on a Friday?'],
  ] as const)('denied (%s): the model receives the denial, the call never runs', async ([reason, text]) => {
    const runs: string[] = [];
    const { session, pending, evaluate, results } = await waiting(runs);
    await session.deny(pending, reason === undefined ? {} : { reason });
    await expect(session.deny(pending, { reason: 'again' })).rejects.toMatchObject(DECIDED); // D67
    expect(await evaluate({ resume: 'auto' })).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_1')).toBe(text);
    expect(results().call_1_1?.isError).toBe(true);
    expect(runs).toEqual([]);
  });

  test('resumed without a decision: it still waits', async () => {
    const { pending, evaluate } = await waiting();
    expect(await evaluate({ resume: true })).toMatchObject({ reason: 'APPROVAL_REQUIRED', pending: [pending] });
  });

  test('an approval after a denial, and a denial after an approval, are rejected', async () => {
    const one = await waiting();
    await one.session.deny(one.pending);
    await expect(one.session.approve(one.pending)).rejects.toMatchObject(DECIDED);
    const two = await waiting();
    await two.session.approve(two.pending);
    await expect(two.session.deny(two.pending)).rejects.toMatchObject(DECIDED);
  });

  test('the need for approval may depend on the input; if the check throws, approval is needed', async () => {
    const runs: unknown[] = [];
    const needsApproval = async ({ n }: { n: number }): Promise<boolean> => {
      if (n === 3) throw new Error('no idea');
      return n > 1;
    };
    const { evaluate } = await agent({
      script: [{ toolCalls: [1, 2, 3].map((n) => call('pay', { n })) }, 'ok'],
      tools: [tool('pay', ({ n }: { n: number }) => runs.push(n), { needsApproval })],
    });
    const response = await evaluate();
    expect(response.pending.map(({ callId }) => callId)).toEqual(['call_1_2', 'call_1_3']);
    expect(runs).toEqual([1]);
  });

  test("in a child conversation: the parent is suspended with it, and continues when the child's call is approved", async () => {
    const runs: string[] = [];
    const child = definePrompt({
      ns: 'test',
      key: 'child',
      instructions: 'Deploy.',
      tools: [tool('deploy', () => `deployed ${runs.push('x')}`, { needsApproval: true })],
    });
    const { session, evaluate } = await agent({
      script: ({ prompt, turn }) =>
        turn > 1 ? 'done' : { toolCalls: [call(prompt.key === 'child' ? 'deploy' : 'delegate')] },
      tools: [tool('delegate', async (_, context) => (await context.evaluate(child)).text, { effect: 'idempotent' })],
    });
    const response = await evaluate();
    expect(response).toMatchObject({ status: 'suspended', reason: 'APPROVAL_REQUIRED' });
    const [pending] = response.pending;
    expect(pending?.evaluationId).not.toBe(response.evaluationId);
    await session.approve(pending as CallRef);
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'done' });
    expect(runs).toHaveLength(1);
  });
});

describe('D18: settling a call whose outcome is unknown', () => {
  test('with its result: it does not run again', async () => {
    const runs: string[] = [];
    const { session, pending, evaluate, results } = await unknown(runs);
    await session.settle(pending, { result: { id: 7 } });
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_1')).toBe('{"id":7}');
    expect(results().call_1_1?.isError).toBe(false);
    expect(runs).toHaveLength(1);
  });

  test('with a failure', async () => {
    const { session, pending, evaluate, results } = await unknown();
    await session.settle(pending, { result: 'it bounced', isError: true });
    await evaluate({ resume: true });
    expect(results().call_1_1).toMatchObject({ isError: true, content: [{ text: 'it bounced' }] });
  });

  test('with permission to run again', async () => {
    const runs: string[] = [];
    const { session, pending, evaluate } = await unknown(runs);
    await session.settle(pending, { rerun: true });
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_1')).toBe('deployed again');
    expect(runs).toHaveLength(2);
  });

  test('twice: the same decision changes nothing, another result is rejected, a result after { rerun } counts', async () => {
    const { session, pending, evaluate } = await unknown();
    await session.settle(pending, { rerun: true });
    await session.settle(pending, { result: 'found out' });
    const { seq } = session;
    await session.settle(pending, { result: 'found out' });
    expect(session.seq).toBe(seq);
    for (const how of [
      { result: 'something else' },
      { result: 'found out', isError: true },
      { rerun: true },
    ] as const) {
      await expect(session.settle(pending, how)).rejects.toMatchObject(DECIDED);
    }
    await evaluate({ resume: true });
    expect(resultText(session, 'call_1_1')).toBe('found out');
    await expect(session.settle(pending, { result: 'late' })).rejects.toMatchObject({
      code: 'TOOL_CALL_NOT_FOUND',
      detail: 'late',
    });
  });

  test('beside a call that waits for approval: the unknown outcome is the reason, and both are pending', async () => {
    const both = [{ toolCalls: [call('ask'), call('pay')] }, 'ok'];
    const ask = tool('ask', () => 'asked', { needsApproval: true });
    const first = await agent({ script: both, tools: [ask, tool('pay', () => new Promise(() => {}))] });
    void first.evaluate();
    while (first.session.state.record.toolStarts.length === 0) await setImmediate();
    await first.store.releaseLease('session', (await first.store.readLease('session'))?.fence ?? 0);
    const second = await agent({ script: both, tools: [ask, tool('pay', () => 'paid')], store: first.store });
    const response = await second.evaluate({ resume: true });
    expect(response).toMatchObject({ status: 'suspended', reason: 'TOOL_OUTCOME_UNKNOWN' });
    expect(response.pending.map(({ callId }) => callId)).toEqual(['call_1_1', 'call_1_2']);
  });

  test('a started call cannot be denied: it may have happened', async () => {
    const { session, pending } = await unknown();
    await expect(session.deny(pending)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('settle it instead'),
    });
  });

  test('a call that waits for approval may be settled, too: then it never runs', async () => {
    const runs: string[] = [];
    const { session, pending, evaluate } = await waiting(runs);
    await session.settle(pending, { result: 'I did it by hand' });
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(runs).toEqual([]);
  });

  test('permission to run again is not an approval', async () => {
    const runs: string[] = [];
    const { session, pending, evaluate } = await waiting(runs);
    await session.settle(pending, { rerun: true });
    expect(await evaluate({ resume: true })).toMatchObject({ reason: 'APPROVAL_REQUIRED' });
    expect(runs).toEqual([]);
  });

  test('needs no lease: it may come while another process runs the session (D51)', async () => {
    const { session, pending, store } = await unknown();
    await store.acquireLease('session', {
      holder: { id: 'other', host: 'elsewhere', pid: 1, startedAt: '' },
      ttlMs: 60_000,
    });
    await session.settle(pending, { result: 'ok' });
    expect(session.pending()).toMatchObject([{ settlement: { result: 'ok' } }]);
  });
});

describe('invalid settlements', () => {
  const acts = {
    settle: (session: Agent['session'], ref: CallRef) => session.settle(ref, { result: '' }),
    approve: (session: Agent['session'], ref: CallRef) => session.approve(ref),
    deny: (session: Agent['session'], ref: CallRef) => session.deny(ref),
  };
  test.for(Object.entries(acts))('%s: of an unknown call, and of one that has ended', async ([, act]) => {
    const { session, pending, evaluate } = await waiting();
    const { seq } = session;
    const wrong = [
      { ...pending, callId: 'call_9_9' },
      { ...pending, turn: 2 },
      { ...pending, evaluationId: 'ev_none' },
      { ...pending, attempt: 7 },
    ];
    for (const ref of wrong) await expect(act(session, ref)).rejects.toMatchObject({ code: 'TOOL_CALL_NOT_FOUND' });
    const { attempt: _, ...call } = pending;
    const withResult = { ...call, callId: 'call_1_2' };
    await expect(act(session, withResult)).rejects.toMatchObject({ code: 'TOOL_CALL_NOT_FOUND' });
    expect(session.seq).toBe(seq);
    await evaluate(); // supersedes the evaluation
    await expect(act(session, pending)).rejects.toMatchObject({
      code: 'TOOL_CALL_NOT_FOUND',
      message: expect.stringContaining('superseded'),
    });
    await expect(act(session, { ...pending, callId: 'call_9_9' })).rejects.toMatchObject({
      code: 'TOOL_CALL_NOT_FOUND',
    });
  });

  test.for([{}, { rerun: false }, { isError: true }, { result: 1, rerun: true }, { rerun: true, isError: true }, null])(
    'settling with %o is rejected',
    async (how) => {
      const { session, pending } = await waiting();
      await expect(session.settle(pending, how as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    },
  );

  test('a result that is not JSON is rejected, and the call still waits', async () => {
    const { session, pending } = await waiting();
    await expect(session.settle(pending, { result: 1n })).rejects.toMatchObject({ code: 'EVENT_INVALID' });
    expect(session.pending()).toHaveLength(1);
  });
});
