import { describe, expect, test } from 'vitest';
import { createAdapter, definePrompt, MainLoop } from '../../src/evaluate.ts';
import {
  type AnySession,
  appendAll,
  type CallRef,
  defineSlice,
  HoldfastError,
  memoryStore,
  openSession,
  scriptedModel,
} from '../../src/index.ts';
import { agent, call, deferred, resultText, tool } from './agent.ts';

/** Events between two steps of the loop: a person's decision, a cancellation, a child that waits. */

describe("D18: a person's decision while siblings run", () => {
  test('an approval is carried out in the same run', async () => {
    const gate = deferred();
    const slow = tool('slow', () => gate.promise);
    const pay = tool('pay', () => 'paid', { needsApproval: async () => true });
    const { session, evaluate, store } = await agent({
      script: [{ toolCalls: [call('slow'), call('pay')] }, 'ok'],
      tools: [slow, pay],
    });
    const running = evaluate({
      onEvent: async (event) => {
        if (event.type !== 'tool/started' || !('callId' in event) || event.callId !== 'call_1_1') return;
        const elsewhere = await openSession({ store, id: session.id });
        await elsewhere.approve(callOf(elsewhere, 'call_1_2'));
        gate.resolve();
      },
    });
    expect(await running).toMatchObject({ status: 'completed', text: 'ok' });
    expect(resultText(session, 'call_1_2')).toBe('paid');
  });

  test('a denial of a call that has not started yet prevents it', async () => {
    const ran: string[] = [];
    const first = tool('first', async () => {
      await session.deny(callOf(session, 'call_1_2'), { reason: 'no!' });
      return 'ok';
    });
    const pay = tool('pay', () => void ran.push('pay'));
    const { session, evaluate } = await agent({
      script: [{ toolCalls: [call('first'), call('pay')] }, 'ok'],
      tools: [first, pay],
    });
    expect(await evaluate({ maxParallelCalls: 1 })).toMatchObject({ status: 'completed' });
    expect(ran).toEqual([]);
    expect(resultText(session, 'call_1_2')).toContain('no!');
  });
});

describe('I2: a call that was recorded as started and did not run has no unknown outcome', () => {
  test('cancelled right after its start was recorded', async () => {
    const ran: string[] = [];
    const pay = tool('pay', () => void ran.push('pay'), { needsApproval: async () => true });
    const { session, evaluate } = await agent({ script: [{ toolCalls: [call('pay')] }, 'ok'], tools: [pay] });
    const { pending } = await evaluate();
    for (const one of pending) await session.approve(one);
    const controller = new AbortController();
    const cancelled = await evaluate({
      resume: true,
      signal: controller.signal,
      onEvent: (event) => {
        if (event.type === 'tool/started') controller.abort();
      },
    });
    expect(cancelled).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(ran).toEqual(['pay']);
  });

  test('cancelled by its sibling', async () => {
    const ran: string[] = [];
    const controller = new AbortController();
    const stop = tool('stop', () => controller.abort(), { effect: 'idempotent' });
    const pay = tool('pay', () => void ran.push('pay'));
    const { evaluate } = await agent({
      script: [{ toolCalls: [call('stop'), call('pay')] }, 'ok'],
      tools: [stop, pay],
    });
    expect(await evaluate({ signal: controller.signal })).toMatchObject({ reason: 'CANCELLED' });
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(ran).toEqual(['pay']);
  });
});

test('D18: children beside one that waits for approval run to their end', async () => {
  const paid: string[] = [];
  const asked = deferred();
  const asking = definePrompt({
    ns: 'test',
    key: 'asking',
    instructions: 'Ask.',
    tools: [tool('ask', () => 'asked', { needsApproval: async () => true })],
  });
  const paying = definePrompt({
    ns: 'test',
    key: 'paying',
    instructions: 'Pay.',
    tools: [
      tool('pay', async () => {
        await asked.promise;
        paid.push('pay');
        return 'paid';
      }),
    ],
  });
  const delegate = tool(
    'delegate',
    async (_, context) => {
      const children = [context.evaluate(asking, { key: 'a' }), context.evaluate(paying, { key: 'b' })];
      children[0]?.catch(() => {}).finally(() => asked.resolve());
      return (await Promise.all(children)).map(({ text }) => text).join();
    },
    { effect: 'idempotent' },
  );
  const { session, evaluate } = await agent({
    script: ({ turn, prompt }) =>
      turn > 1
        ? 'done'
        : { toolCalls: [call(prompt.key === 'asking' ? 'ask' : prompt.key === 'paying' ? 'pay' : 'delegate')] },
    tools: [delegate],
  });
  const first = await evaluate();
  expect(first).toMatchObject({ status: 'suspended', reason: 'APPROVAL_REQUIRED' });
  for (const one of first.pending) await session.approve(one);
  expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
  expect(paid).toEqual(['pay']);
});

describe('I2: a main loop restarts only if it has not acted', () => {
  const setUp = (
    paid: string[],
    options: Partial<ConstructorParameters<typeof MainLoop<string>>[0]>,
  ): MainLoop<string> => {
    const prompt = definePrompt({
      ns: 'test',
      key: 'paying',
      instructions: 'Pay.',
      tools: [tool('pay', () => void paid.push('pay'))],
    });
    const model = scriptedModel([{ toolCalls: [call('pay')] }, 'done']);
    return new MainLoop<string>({
      adapter: createAdapter({ model }),
      prepare: () => ({ prompt, input: 'go' }),
      onInvalid: 'restart',
      ...options,
    });
  };

  test('a checkpoint that cannot be saved', async () => {
    const paid: string[] = [];
    const full = (): never => {
      throw new HoldfastError('CHECKPOINT_INVALID', 'the disk is full');
    };
    const loop = setUp(paid, {
      checkpoints: {
        load: async () => undefined,
        clear: async () => {},
        save: async () => void (paid.length > 0 && full()),
      },
    });
    await expect(loop.execute('one')).rejects.toMatchObject({ code: 'CHECKPOINT_INVALID' });
    expect(paid).toEqual(['pay']);
  });

  test('a `finalize` that fails', async () => {
    const paid: string[] = [];
    const loop = setUp(paid, {
      store: memoryStore(),
      finalize: (_, __, session) => session.eraseMessage('nobody').then(() => {}),
    });
    await expect(loop.execute('one')).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
    expect(paid).toEqual(['pay']);
  });
});

test('an invalid signal is rejected before the lease is acquired', async () => {
  const { evaluate } = await agent({ script: ['ok'] });
  const signal = new AbortController() as unknown as AbortSignal;
  await expect(evaluate({ signal })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(await evaluate()).toMatchObject({ status: 'completed' });
});

test('events dispatched by a failed tool are redacted once', async () => {
  const session = await openSession({
    store: memoryStore(),
    id: 'one',
    slices: [defineSlice({ name: 'notes', initial: [], on: { 'note/added': appendAll } })],
    redact: (event) => ('text' in event ? { ...event, text: `sealed(${event.text})` } : event),
  });
  const fails = tool('fails', async (_, context) => {
    await context.session.dispatch({ type: 'note/added', text: 'hi' } as never);
    throw new Error('no');
  });
  const prompt = definePrompt({ ns: 'test', key: 'fails', instructions: 'Fail.', tools: [fails] });
  const model = scriptedModel([{ toolCalls: [call('fails')] }, 'done']);
  await createAdapter({ model }).evaluate(prompt, { session, input: 'go' });
  const notes: unknown[] = [];
  for await (const event of session.events({ types: ['note/added'] })) notes.push(event);
  expect(notes).toMatchObject([{ text: 'sealed(hi)', discarded: true }]);
});

function callOf(session: AnySession, callId: string): CallRef {
  return { evaluationId: session.latestEvaluation()?.id ?? '', turn: 1, callId };
}
