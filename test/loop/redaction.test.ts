/** D77: the log holds redacted arguments, and tools run with the exact ones. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { CallRef } from '../../src/core/log/messages.ts';
import { definePrompt } from '../../src/evaluate.ts';
import { type AnyTool, defineSubagent, mcpTools, memoryStore, openSession } from '../../src/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { STORES } from '../session/stores.ts';
import { type AgentOptions, agent, call, tool } from './agent.ts';
import { contentOf, EXACT, type Paying, paying, redact, SECRET, shown } from './paying-agent.ts';

const EFFECTS = ['read', 'idempotent', 'once'] as const;

describe.each(STORES)('D77: a tool gets the exact arguments, on %s', (_, open) => {
  test.for(EFFECTS)('of a call that runs at once, with effect %s', async (effect) => {
    const made = await paying({ effect }, { store: await open() });
    await made.evaluate();
    expect(made.given).toEqual([EXACT]);
    expect(await shown(made)).not.toContain(SECRET);
  });

  test.for(EFFECTS)('of a call that runs later because of the limit, with effect %s', async (effect) => {
    const script = [{ toolCalls: [call('pay', EXACT, 'a'), call('pay', EXACT, 'b')] }, 'ok'];
    const made = await paying({ effect }, { store: await open(), script });
    await made.evaluate({ maxParallelCalls: 1 });
    expect(made.given).toEqual([EXACT, EXACT]);
  });

  test.for(EFFECTS)('of a call that waits for approval, with effect %s, in another process', async (effect) => {
    const asked: unknown[] = [];
    const needsApproval = (input: unknown): boolean => asked.push(input) > 0;
    const made = await paying({ effect, needsApproval }, { store: await open() });
    const { pending } = await made.evaluate();
    await made.session.approve(pending[0] as CallRef);
    const next = await made.again();
    await next.evaluate({ resume: true });
    expect(made.given).toEqual([EXACT]);
    expect(new Set(asked.map((one) => JSON.stringify(one)))).toEqual(new Set([JSON.stringify(EXACT)]));
    expect(await shown(next)).not.toContain(SECRET);
  });

  test.for(['read', 'idempotent'] as const)(
    'of an interrupted call that runs again, with effect %s',
    async (effect) => {
      const made = await paying({ effect }, { store: await open() });
      const ref = await made.interrupt();
      expect(await contentOf(made.store, ref)).toBe(JSON.stringify(EXACT));
      const next = await made.again();
      await next.evaluate({ resume: true });
      expect(made.given).toEqual([EXACT, EXACT]);
      expect(await contentOf(made.store, ref)).toBeUndefined();
      expect(await shown(next)).not.toContain(SECRET);
    },
  );

  test('in reconcile and compensate, and when a person permits a rerun', async () => {
    const asked: unknown[] = [];
    const rest: Partial<AnyTool> = {
      effect: 'once',
      reconcile: (input: unknown) => {
        asked.push(input);
        return { happened: 'unknown' };
      },
      compensate: (input: unknown) => void asked.push(input),
    };
    const made = await paying(rest, { store: await open() });
    const ref = await made.interrupt();
    const next = await made.again();
    expect(await next.evaluate({ resume: true })).toMatchObject({ reason: 'TOOL_OUTCOME_UNKNOWN' });
    expect(await contentOf(made.store, ref)).toBe(JSON.stringify(EXACT));
    await next.session.settle(ref, { rerun: true });
    await next.evaluate({ resume: true });
    expect(made.given).toEqual([EXACT, EXACT]);
    expect(asked.length).toBeGreaterThan(1);
    for (const one of asked) expect(one).toEqual(EXACT);
    expect(await contentOf(made.store, ref)).toBeUndefined();
  });

  test('of a subagent, whose child conversation is found again', async () => {
    const looked: unknown[] = [];
    const stop = new AbortController();
    let hangs = true;
    const look = tool(
      'look',
      (input) => {
        looked.push(input);
        if (!hangs) return 'seen';
        stop.abort();
        return new Promise(() => {});
      },
      { effect: 'idempotent' },
    );
    const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Look.', tools: [look] });
    const options: AgentOptions = {
      store: await open(),
      redact,
      tools: [defineSubagent({ name: 'delegate', description: 'delegates', prompt: child })],
      script: ({ prompt, turn }) => {
        if (turn > 1) return 'ok';
        return { toolCalls: [prompt.key === 'child' ? call('look', EXACT) : call('delegate', { input: SECRET })] };
      },
    };
    const first = await agent(options);
    await first.evaluate({ signal: stop.signal });
    hangs = false;
    const next = await agent(options);
    expect(await next.evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(next.session.state.record.evaluations.length).toBe(2);
    expect(looked).toEqual([EXACT, EXACT]);
    expect(await shown(next)).not.toContain(SECRET);
  });

  test('of AI SDK and MCP tools', async () => {
    const given: unknown[] = [];
    const foreign = {
      description: 'pays',
      inputSchema: z.looseObject({}),
      execute: (input: unknown) => given.push(input),
    };
    const client = {
      listTools: async () => ({ tools: [{ name: 'send', inputSchema: { type: 'object' } }] }),
      callTool: async (request: { readonly arguments?: unknown }) => {
        given.push(request.arguments);
        return { content: [{ type: 'text', text: 'sent' }] };
      },
    };
    const tools = [...Object.values(await mcpTools(client as never))] as readonly AnyTool[];
    const script = [{ toolCalls: [call('pay', EXACT), call('send', EXACT)] }, 'ok'];
    const made = await agent({
      store: await open(),
      redact,
      script,
      tools: { pay: foreign as never, ...Object.fromEntries(tools.map((one) => [one.name, one])) } as never,
    });
    await made.evaluate({ maxParallelCalls: 1 });
    expect(given).toEqual([EXACT, EXACT]);
  });

  test.for<readonly [string, Parameters<typeof tool>[2], (made: Paying, ref: CallRef) => Promise<unknown>]>([
    [
      'its result',
      { needsApproval: true },
      async ({ session, evaluate }, ref) => {
        await session.approve(ref);
        await evaluate({ resume: true });
      },
    ],
    ['a denial', { needsApproval: true }, ({ session }, ref) => session.deny(ref)],
    [
      'a denial by a handle without redact',
      { needsApproval: true },
      async ({ store }, ref) => (await openSession({ store, id: 'session' })).deny(ref),
    ],
    [
      'a settlement with its result',
      { needsApproval: true },
      ({ session }, ref) => session.settle(ref, { result: 'done by hand' }),
    ],
    [
      'a settlement as failed',
      { needsApproval: true },
      ({ session }, ref) => session.settle(ref, { result: 'no', isError: true }),
    ],
    ['a newer evaluation', { needsApproval: true }, ({ evaluate }) => evaluate({ input: 'Something else.' })],
    [
      'an evaluation that is given up',
      { needsApproval: true },
      ({ session }, { evaluationId }) => session.dispatch({ type: 'evaluation/superseded', evaluationId }),
    ],
    [
      'the failure of its evaluation',
      { needsApproval: true },
      ({ session }, { evaluationId }) =>
        session.dispatch({
          type: 'evaluation/failed',
          evaluationId,
          error: { code: 'EVALUATION_FAILED', message: 'no' },
        }),
    ],
    [
      'the erasure of its message',
      { needsApproval: true },
      ({ session }, ref) => session.eraseMessage(`${ref.evaluationId}:2`),
    ],
    [
      'a denial by a process that loads a snapshot',
      { needsApproval: true },
      async ({ session, store }, ref) => {
        await session.compact();
        await (await openSession({ store, id: 'session' })).deny(ref);
      },
    ],
    ['the deletion of the session', { needsApproval: true }, ({ store }) => store.deleteSession('session')],
  ])('which are dropped with %s', async ([, rest, end]) => {
    const made = await paying(rest, { store: await open() });
    const { pending } = await made.evaluate();
    const ref = pending[0] as CallRef;
    expect(await contentOf(made.store, ref)).toBe(JSON.stringify(EXACT));
    await end(made, ref);
    expect(await contentOf(made.store, ref)).toBeUndefined();
  });

  test('which are dropped with the result of a tool that throws, and of one whose arguments are invalid', async () => {
    const store = await open();
    const made = await agent({
      store,
      redact,
      script: [{ toolCalls: [call('break', EXACT, 'a'), call('strict', EXACT, 'b'), call('none', EXACT, 'c')] }, 'ok'],
      tools: [
        tool('break', () => {
          throw new Error(`no ${SECRET}`);
        }),
        tool('strict', () => 'never', { input: z.object({ card: z.literal('x') }) as never }),
      ],
    });
    const { evaluationId } = await made.evaluate();
    for (const callId of ['a', 'b', 'c']) {
      expect(made.results()[callId]?.isError).toBe(true);
      expect(await contentOf(store, { evaluationId, turn: 1, callId })).toBeUndefined();
    }
    expect(await shown(made)).not.toContain(SECRET);
  });

  test('which are dropped when an approval expires', async () => {
    const clock = fakeClock();
    const made = await paying({ needsApproval: { expiresAfterMs: 1000 } }, { clock, store: memoryStore({ clock }) });
    const { pending } = await made.evaluate();
    expect(await contentOf(made.store, pending[0])).toBe(JSON.stringify(EXACT));
    clock.advance(2000);
    await made.evaluate({ resume: true });
    expect(await contentOf(made.store, pending[0])).toBeUndefined();
    expect(made.given).toEqual([]);
  });

  test('which are dropped with an ancestor evaluation', async () => {
    const ask = tool('ask', () => 'asked', { needsApproval: true });
    const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Ask.', tools: [ask] });
    const made = await agent({
      store: await open(),
      redact,
      tools: [defineSubagent({ name: 'delegate', description: 'delegates', prompt: child })],
      script: ({ prompt }) => ({ toolCalls: [prompt.key === 'child' ? call('ask', EXACT) : call('delegate', EXACT)] }),
    });
    const { pending, evaluationId } = await made.evaluate();
    const refs = [pending[0] as CallRef, { evaluationId, turn: 1, callId: 'call_1_1' }];
    expect(refs[0]?.evaluationId).not.toBe(evaluationId);
    for (const ref of refs) expect(await contentOf(made.store, ref)).toBeDefined();
    await made.session.dispatch({ type: 'evaluation/superseded', evaluationId });
    for (const ref of refs) expect(await contentOf(made.store, ref)).toBeUndefined();
  });
});
