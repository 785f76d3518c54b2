import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { definePrompt } from '../../src/evaluate.ts';
import { type CallRef, openSession, type Session } from '../../src/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { type Agent, type AgentOptions, agent, call, deferred, eventTypes, resultText, tool } from './agent.ts';

/** D67: approvals are evidence, and the first decision wins, of any handle or process. */

interface Waiting extends Agent {
  readonly pending: CallRef;
  readonly runs: unknown[];
  /** Another handle of the same session. */
  other(): Promise<Session>;
}

/** An agent whose one call waits for approval. */
async function waiting(
  rest: Parameters<typeof tool>[2] = { needsApproval: true },
  options: Partial<AgentOptions> = {},
): Promise<Waiting> {
  const runs: unknown[] = [];
  const deploy = tool('deploy', (input) => `deployed ${runs.push(input)}`, rest);
  const made = await agent({
    script: [{ toolCalls: [call('deploy', { to: 'staging' })] }, 'ok'],
    tools: [deploy],
    ...options,
  });
  const { pending } = await made.evaluate();
  const { store, session } = made;
  const other = (): Promise<Session> =>
    openSession({ store, id: session.id, ...(options.clock && { clock: options.clock }) });
  return { ...made, pending: pending[0] as CallRef, runs, other };
}

const INVALID = { code: 'INVALID_ARGUMENT' };
const DECIDED = { code: 'CALL_DECIDED' };
const LATE = { code: 'TOOL_CALL_NOT_FOUND', detail: 'late' };

describe('D67: the first decision wins', () => {
  test.for(Array.from({ length: 5 }, (_, i) => i))(
    'of a concurrent approval and denial one is rejected, and the call follows the other (%i)',
    async () => {
      const { session, other, pending, evaluate, runs } = await waiting();
      const said = await Promise.allSettled([
        session.approve(pending),
        (await other()).deny(pending, { reason: 'no' }),
        (await other()).approve(pending),
        session.deny(pending),
      ]);
      expect(said.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const one of said) if (one.status === 'rejected') expect(one.reason).toMatchObject(DECIDED);
      expect((await eventTypes(session)).filter((type) => /^tool\/(approved|denied)$/.test(type))).toHaveLength(1);
      await evaluate({ resume: true });
      const isApproved = said[0]?.status === 'fulfilled' || said[2]?.status === 'fulfilled';
      expect(runs).toHaveLength(isApproved ? 1 : 0);
      expect(resultText(session, 'call_1_1')).toMatch(isApproved ? /^deployed 1$/ : /denied/);
    },
  );

  test('of two concurrent settlements with different results one is rejected', async () => {
    const { session, other, pending, evaluate } = await waiting();
    const results = ['one', 'two'];
    const handles = [session, await other()];
    const said = await Promise.allSettled(handles.map((handle, i) => handle.settle(pending, { result: results[i] })));
    expect(said.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    for (const one of said) if (one.status === 'rejected') expect(one.reason).toMatchObject(DECIDED);
    await evaluate({ resume: true });
    expect(resultText(session, 'call_1_1')).toBe(results[said.findIndex(({ status }) => status === 'fulfilled')]);
  });

  test("a start overrides a later denial: the denial is rejected and the call's own result is recorded", async () => {
    const gate = deferred<string>();
    const started = deferred();
    const deploy = tool('deploy', () => gate.promise, { needsApproval: true });
    const made = await waiting({}, { tools: [deploy] });
    await made.session.approve(made.pending);
    const running = made.evaluate({
      resume: true,
      onEvent: (event) => event.type === 'tool/started' && started.resolve(),
    });
    await started.promise;
    await expect((await made.other()).deny(made.pending)).rejects.toMatchObject(LATE);
    const { attempt: _, ...newest } = made.pending;
    await expect((await made.other()).deny(newest)).rejects.toMatchObject(DECIDED);
    gate.resolve('done');
    await running;
    expect(resultText(made.session, 'call_1_1')).toBe('done');
  });

  test('a denial that is in the log before the start prevents the call', async () => {
    const runs: string[] = [];
    const made = await agent({
      script: [{ toolCalls: [call('first'), call('pay')] }, 'ok'],
      tools: [tool('first', () => 'ok'), tool('pay', () => runs.push('pay'))],
    });
    // Another process denies the second call while its start is being appended: the handle has not read the denial.
    const append = made.store.append.bind(made.store);
    let denied: Promise<void> | undefined;
    made.store.append = async (id, events, options) => {
      const start = events.find((event) => event.type === 'tool/started' && event.callId === 'call_1_2');
      if (start && !denied) {
        const { evaluationId, turn, callId } = start as unknown as CallRef;
        const other = await openSession({ store: made.store, id });
        denied = other.deny({ evaluationId, turn, callId }, { reason: 'no!' });
        await denied;
      }
      return append(id, events, options);
    };
    expect(await made.evaluate({ maxParallelCalls: 1 })).toMatchObject({ status: 'completed' });
    expect(denied).toBeDefined();
    expect(runs).toEqual([]);
    expect(resultText(made.session, 'call_1_2')).toContain('no!');
  });

  test('a call that waits for no approval cannot be approved', async () => {
    const { gate, begun, slow } = gatedRead();
    const { session, evaluate } = await agent({ script: [{ toolCalls: [call('slow')] }, 'ok'], tools: [slow] });
    const running = evaluate();
    await begun.promise;
    const [open] = session.pending();
    await expect(session.approve(open as CallRef)).rejects.toMatchObject(INVALID);
    gate.resolve('seen');
    await running;
    expect(resultText(session, 'call_1_1')).toBe('seen');
  });

  test('a read that is denied while it runs is recorded as denied, and once', async () => {
    const { gate, begun, slow } = gatedRead();
    const { session, evaluate } = await agent({ script: [{ toolCalls: [call('slow')] }, 'ok'], tools: [slow] });
    const running = evaluate();
    await begun.promise;
    await session.deny(session.pending()[0] as CallRef, { reason: 'secret' });
    gate.resolve('seen');
    await running;
    expect(resultText(session, 'call_1_1')).toBe('This call was denied: secret');
  });
});

describe('D67: approvals are evidence', () => {
  test('the approver, the time and the comment are in the log and with the call', async () => {
    const clock = fakeClock();
    const { session, pending } = await waiting(undefined, { clock });
    clock.advance(5_000);
    const at = new Date(clock.now()).toISOString();
    await session.approve(pending, { by: 'Ann', note: 'after lunch' });
    for await (const event of session.events({ types: ['tool/approved'] })) {
      expect(event).toMatchObject({ ...pending, at, by: 'Ann', note: 'after lunch' });
    }
    expect(session.pending()).toMatchObject([
      { approval: 'approved', decision: { at, by: 'Ann', note: 'after lunch' } },
    ]);
  });

  test('the person who denied is recorded', async () => {
    const { session, pending } = await waiting();
    await session.deny(pending, { reason: 'no', by: 'Bob' });
    expect(session.pending()).toMatchObject([{ approval: 'denied', deniedBecause: 'no', decision: { by: 'Bob' } }]);
  });

  test('a call runs with edited arguments, and a synthetic part of its result reports that to the model', async () => {
    const { session, pending, evaluate, runs, results, requests } = await waiting();
    await session.approve(pending, { arguments: { to: 'production' } });
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(runs).toEqual([{ to: 'production' }]);
    expect(results().call_1_1?.content).toEqual([
      { type: 'text', text: 'deployed 1' },
      { type: 'text', text: expect.stringContaining('{"to":"production"}'), synthetic: true },
    ]);
    const sent = requests.at(-1)?.messages.at(-1);
    expect(JSON.stringify(sent)).toContain('production');
  });

  test('a call that crashed runs again with the edited arguments', async () => {
    const made = await waiting({ needsApproval: true, effect: 'idempotent' });
    await made.session.approve(made.pending, { arguments: { to: 'production' } });
    const { evaluationId, turn, callId } = made.pending;
    const start = { toolName: 'deploy', effect: 'idempotent', attempt: 1 };
    await made.session.append([{ type: 'tool/started', evaluationId, turn, callId, ...start }]); // and the process was killed
    await made.evaluate({ resume: true });
    expect(made.runs).toEqual([{ to: 'production' }]);
  });

  test('with invalid edited arguments the call waits again, with the reason', async () => {
    const input = z.object({ to: z.enum(['staging', 'production']) });
    const { session, pending, evaluate, runs } = await waiting({ needsApproval: true, input });
    await session.approve(pending, { arguments: { to: 'the moon' } });
    const response = await evaluate({ resume: true });
    expect(response).toMatchObject({ status: 'suspended', reason: 'APPROVAL_REQUIRED', pending: [pending] });
    expect(session.pending()).toMatchObject([{ approvalRequest: { problem: expect.stringContaining('to') } }]);
    expect(session.pending()[0]).not.toHaveProperty('approval');
    expect(runs).toEqual([]);
    await session.approve(pending);
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(runs).toEqual([{ to: 'staging' }]);
  });
});

describe('D67: approvals expire', () => {
  const needsApproval = { expiresAfterMs: 60_000 };

  test.for([
    ['a value', needsApproval],
    ['a function', async () => needsApproval],
  ] as const)('an approval after the recorded time is rejected, and the call is denied (%s)', async ([, needed]) => {
    const clock = fakeClock();
    const { session, pending, evaluate, runs } = await waiting({ needsApproval: needed }, { clock });
    const expiresAt = new Date(clock.now() + 60_000).toISOString();
    expect(session.pending()).toMatchObject([{ approvalRequest: { expiresAt } }]);
    expect(session.summary?.wakeAt).toBe(expiresAt);
    clock.advance(30_000);
    expect(await evaluate({ resume: true })).toMatchObject({ reason: 'APPROVAL_REQUIRED' }); // a resume does not extend it
    expect(session.summary?.wakeAt).toBe(expiresAt);
    clock.advance(30_000);
    await expect(session.approve(pending)).rejects.toMatchObject({
      ...DECIDED,
      message: expect.stringContaining(expiresAt),
    });
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(runs).toEqual([]);
    expect(resultText(session, 'call_1_1')).toBe(`This call was denied: it was not approved before ${expiresAt}`);
    expect(session.summary).not.toMatchObject({ wakeAt: expect.anything() });
  });

  test('a call that was approved in time runs later', async () => {
    const clock = fakeClock();
    const { session, pending, evaluate, runs } = await waiting({ needsApproval }, { clock });
    clock.advance(59_999);
    await session.approve(pending);
    clock.advance(60_000);
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(runs).toHaveLength(1);
  });

  test('an invalid time is rejected when the tool is defined', () => {
    expect(() => tool('deploy', () => '', { needsApproval: { expiresAfterMs: -1 } })).toThrow(/expiresAfterMs/);
  });
});

describe('D52, D67: calls of child conversations', () => {
  async function delegating(effect: 'read' | 'idempotent'): Promise<Agent> {
    const deploy = tool('deploy', () => 'deployed', { needsApproval: true });
    const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Deploy.', tools: [deploy] });
    const made = await agent({
      script: ({ prompt, turn }) =>
        turn > 1 ? 'done' : { toolCalls: [call(prompt.key === 'child' ? 'deploy' : 'delegate')] },
      tools: [tool('delegate', async (_, context) => (await context.evaluate(child)).text, { effect })],
    });
    await made.evaluate();
    return made;
  }

  test.for(['read', 'idempotent'] as const)(
    'the pending call is the child’s, and the parent’s cannot be approved (%s)',
    async (effect) => {
      const { session, evaluate } = await delegating(effect);
      const pending = session.pending();
      expect(pending).toMatchObject([{ name: 'deploy', attempt: 0, approvalRequest: {} }]);
      const parent = session.state.record.evaluations.items.at(0)?.calls[0];
      expect(parent).toMatchObject({ name: 'delegate' });
      await expect(session.approve(parent as CallRef)).rejects.toMatchObject(INVALID);
      await session.approve(pending[0] as CallRef);
      expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    },
  );

  test("a child's call cannot be approved when an ancestor evaluation was superseded", async () => {
    const { session, evaluate } = await delegating('idempotent');
    const [pending] = session.pending();
    await evaluate(); // supersedes it
    await expect(session.approve(pending as CallRef)).rejects.toMatchObject(LATE);
  });
});

test('D67: calls that an older version suspended for can be approved', async () => {
  const { session, pending, evaluate, runs, store } = await waiting();
  // The log of a version without approval-requested events.
  const events: unknown[] = [];
  for await (const { seq: _, ...event } of session.events()) {
    if (event.type === 'evaluation/suspended') {
      const { evaluationId, turn, callId } = pending;
      events.push({ ...event, pending: [{ evaluationId, turn, callId }] });
    } else if (event.type !== 'tool/approval-requested') events.push(event);
  }
  await store.append('old', events as never, { id: 'copy', expectedSeq: 0 });
  const old = await openSession({ store, id: 'old' });
  await old.approve(pending);
  expect(await evaluate({ session: old, resume: true })).toMatchObject({ status: 'completed' });
  expect(runs).toHaveLength(1);
});

/** A read that runs until its gate opens. */
function gatedRead() {
  const gate = deferred<string>();
  const begun = deferred();
  const execute = (): Promise<string> => {
    begun.resolve();
    return gate.promise;
  };
  return { gate, begun, slow: tool('slow', execute, { effect: 'read' }) };
}
