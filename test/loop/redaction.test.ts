import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type CallRef, callKey } from '../../src/core/messages.ts';
import {
  type AnyTool,
  type AssistantMessage,
  approveToolCall,
  type ConversationMessage,
  definePrompt,
  defineSubagent,
  defineTool,
  denyToolCall,
  type EvaluateOptions,
  getMessages,
  getPendingToolCalls,
  type Model,
  type ModelPart,
  mcpTools,
  memoryStore,
  type NewEvent,
  openSession,
  readCallArguments,
  type Session,
  type SessionEvent,
  type Store,
  settleToolCall,
  type ToolCall,
} from '../../src/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { exportConversation } from '../../src/transcripts.ts';
import { STORES } from '../session/stores.ts';
import { type Agent, type AgentOptions, agent, call, resultText, tool } from './agent.ts';

/** D77: the log holds redacted arguments, and tools run with the exact ones. */

const SECRET = '4111-1111';
const OTHER = '4222-2222';
const EXACT = { card: SECRET };
const hide = (text: string): string => text.replaceAll(SECRET, '[card]').replaceAll(OTHER, '[card]');
const redact = (event: NewEvent): NewEvent => JSON.parse(hide(JSON.stringify(event))) as NewEvent;

async function logOf(session: Session): Promise<readonly SessionEvent[]> {
  const log: SessionEvent[] = [];
  for await (const event of session.events()) log.push(event);
  return log;
}

/** Everything readable of a session, except the contents of its calls. */
async function shown({ session, store, events }: Pick<Agent, 'session' | 'store' | 'events'>): Promise<string> {
  await session.compact();
  const found = await store.search?.('4111');
  const exported = exportConversation(getMessages(session), { format: 'markdown' }).content;
  const fork = await session.fork();
  const everything = [
    await logOf(session),
    await logOf(fork),
    events,
    await session.snapshot({ contents: true }),
    await store.readSnapshot(session.id),
    await store.readDraft(session.id),
    found ?? [],
    exported,
    getPendingToolCalls(session),
  ];
  return JSON.stringify(everything);
}

/** The stored contents of a session's only call. */
function contentOf(store: Store, ref: CallRef | undefined): Promise<string | undefined> {
  return store.readCallContent('session', callKey(ref as CallRef));
}

const editedOf = (store: Store, ref: CallRef): Promise<string | undefined> =>
  store.readCallContent('session', `edited:${callKey(ref)}`);

interface Paying extends Agent {
  readonly given: unknown[];
  /** Ends the first run while the tool runs, as a crash would: the call stays open in the log. */
  interrupt(options?: EvaluateOptions): Promise<CallRef>;
  /** Another process on the same store. */
  again(options?: Partial<AgentOptions>): Promise<Paying>;
}

/** An agent with one call, "pay", whose argument is a secret. */
async function paying(
  rest: Parameters<typeof tool>[2] = {},
  options: Partial<AgentOptions> = {},
  given: unknown[] = [],
): Promise<Paying> {
  let hangs = false;
  const stop = new AbortController();
  const pay = tool(
    'pay',
    async (input) => {
      given.push(input);
      if (!hangs) return 'paid';
      stop.abort(new Error('the process ends'));
      return new Promise(() => {});
    },
    rest,
  );
  const made = await agent({
    script: [{ toolCalls: [call('pay', EXACT)] }, 'ok'],
    tools: [pay],
    redact,
    ...options,
  });
  const { store } = made;
  return {
    ...made,
    given,
    async interrupt(more = {}) {
      hangs = true;
      expect(await made.evaluate({ ...more, signal: stop.signal })).toMatchObject({
        status: 'suspended',
        reason: 'CANCELLED',
      });
      return getPendingToolCalls(made.session)[0] as CallRef;
    },
    again: (more = {}) => paying(rest, { ...options, ...more, store }, given),
  };
}

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
    await approveToolCall(made.session, pending[0] as CallRef);
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
    await settleToolCall(next.session, ref, { rerun: true });
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
        await approveToolCall(session, ref);
        await evaluate({ resume: true });
      },
    ],
    ['a denial', { needsApproval: true }, ({ session }, ref) => denyToolCall(session, ref)],
    [
      'a denial by a handle without redact',
      { needsApproval: true },
      async ({ store }, ref) => denyToolCall(await openSession({ store, id: 'session' }), ref),
    ],
    [
      'a settlement with its result',
      { needsApproval: true },
      ({ session }, ref) => settleToolCall(session, ref, { result: 'done by hand' }),
    ],
    [
      'a settlement as failed',
      { needsApproval: true },
      ({ session }, ref) => settleToolCall(session, ref, { result: 'no', isError: true }),
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
        await denyToolCall(await openSession({ store, id: 'session' }), ref);
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

describe('D77: a provider gets the recorded form', () => {
  test('in every request, live and after a resume', async () => {
    const script = [{ toolCalls: [call('pay', EXACT)] }, 'ok'];
    const live = await paying({ effect: 'idempotent' }, { script });
    await live.evaluate();
    const stopped = await paying({ effect: 'idempotent' }, { script });
    await stopped.interrupt();
    const resumed = await stopped.again();
    await resumed.evaluate({ resume: true });
    const asked = (messages: readonly ConversationMessage[] = []): unknown =>
      messages.map(({ role, content, ...rest }) => ({ role, content, calls: 'toolCalls' in rest && rest.toolCalls }));
    expect(asked(resumed.requests.at(-1)?.messages)).toEqual(asked(live.requests.at(-1)?.messages));
    for (const { requests } of [live, resumed]) expect(JSON.stringify(requests)).not.toContain(SECRET);
    expect(JSON.stringify(live.requests)).toContain('[card]');
  });
});

describe('D77: approvers', () => {
  test('read the exact arguments through the call, from any handle', async () => {
    const { session, store, evaluate } = await paying({ needsApproval: true });
    const { pending } = await evaluate();
    const [ref] = getPendingToolCalls(session);
    expect(ref).toMatchObject({ arguments: '{"card":"[card]"}', argumentsRedacted: true });
    const viewer = await openSession({ store, id: 'session', readOnly: true });
    expect(await readCallArguments(viewer, pending[0] as CallRef)).toBe(JSON.stringify(EXACT));
  });

  test('read the arguments of a call that was not redacted, and are rejected for a call that has ended', async () => {
    const plain = await paying({ needsApproval: true }, { script: [{ toolCalls: [call('pay', { n: 1 })] }, 'ok'] });
    const [open] = (await plain.evaluate()).pending;
    expect(getPendingToolCalls(plain.session)[0]?.argumentsRedacted).toBeUndefined();
    expect(await readCallArguments(plain.session, open as CallRef)).toBe('{"n":1}');
    const ended = await paying({ needsApproval: true });
    const [ref] = (await ended.evaluate()).pending;
    await denyToolCall(ended.session, ref as CallRef);
    await expect(readCallArguments(ended.session, ref as CallRef)).rejects.toMatchObject({ code: 'CONTENT_NOT_FOUND' });
    await expect(readCallArguments(ended.session, { ...(ref as CallRef), turn: 7 })).rejects.toMatchObject({
      code: 'TOOL_CALL_NOT_FOUND',
    });
  });

  test('edit arguments outside the log: tool/approved only records that they were edited', async () => {
    const made = await paying({ needsApproval: true });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    await approveToolCall(made.session, ref, { by: 'Ann', arguments: { card: OTHER } });
    expect((await logOf(made.session)).at(-1)).toMatchObject({ type: 'tool/approved', by: 'Ann', edited: true });
    expect((await logOf(made.session)).at(-1)).not.toHaveProperty('arguments');
    expect(await readCallArguments(made.session, ref)).toBe(JSON.stringify({ card: OTHER }));
    const next = await made.again();
    await next.evaluate({ resume: true });
    expect(made.given).toEqual([{ card: OTHER }]);
    expect(resultText(next.session, ref.callId)).toMatch(/A person changed the arguments/);
    expect(await shown(next)).not.toMatch(/4111|4222/);
    expect(await contentOf(made.store, ref)).toBeUndefined();
    expect(await editedOf(made.store, ref)).toBeUndefined();
  });

  test('without redact edit a redacted call outside the log, too', async () => {
    const made = await paying({ needsApproval: true });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    await approveToolCall(await openSession({ store: made.store, id: 'session' }), ref, { arguments: { card: OTHER } });
    await made.evaluate({ resume: true });
    expect(made.given).toEqual([{ card: OTHER }]);
    expect(await shown(made)).not.toMatch(/4111|4222/);
  });

  test('edit a call that was not redacted outside the log of a session with redact', async () => {
    const made = await paying({ needsApproval: true }, { script: [{ toolCalls: [call('pay', { n: 1 })] }, 'ok'] });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    await approveToolCall(made.session, ref, { arguments: { n: 2 } });
    expect((await logOf(made.session)).at(-1)).toMatchObject({ edited: true });
    await made.evaluate({ resume: true });
    expect(made.given).toEqual([{ n: 2 }]);
    expect(await editedOf(made.store, ref)).toBeUndefined();
  });

  test('run a call with edited arguments whatever redact leaves of the approval', async () => {
    const forgetful = (event: NewEvent): NewEvent => {
      const { edited: _, ...rest } = redact(event) as NewEvent & { edited?: true };
      return rest as NewEvent;
    };
    const made = await paying({ needsApproval: true }, { redact: forgetful });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    await approveToolCall(made.session, ref, { arguments: { card: OTHER } });
    await made.evaluate({ resume: true });
    expect(made.given).toEqual([{ card: OTHER }]);
  });

  test('approve twice: the second edit is rejected and changes nothing', async () => {
    const made = await paying({ needsApproval: true });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    const other = await openSession({ store: made.store, id: 'session', redact });
    const said = await Promise.allSettled([
      approveToolCall(made.session, ref, { arguments: { card: OTHER } }),
      approveToolCall(other, ref, { arguments: { card: 'stolen' } }),
      approveToolCall(made.session, ref, { arguments: { card: 'mine' } }),
    ]);
    const won = said.findIndex(({ status }) => status === 'fulfilled');
    expect(said.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await expect(approveToolCall(other, ref, { arguments: {} })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await made.evaluate({ resume: true });
    expect(made.given).toEqual([{ card: [OTHER, 'stolen', 'mine'][won] }]);
  });

  test("whose edit is invalid find the call waiting again with the model's arguments", async () => {
    const input = z.object({ card: z.string() }) as never;
    const made = await paying({ needsApproval: true, input });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    await approveToolCall(made.session, ref, { arguments: { card: 7 } });
    expect(await made.evaluate({ resume: true })).toMatchObject({ reason: 'APPROVAL_REQUIRED' });
    expect(await editedOf(made.store, ref)).toBeUndefined();
    expect(await readCallArguments(made.session, ref)).toBe(JSON.stringify(EXACT));
    await approveToolCall(made.session, ref);
    await made.evaluate({ resume: true });
    expect(made.given).toEqual([EXACT]);
  });

  test("whose message is erased leave neither the model's arguments nor their own", async () => {
    const made = await paying({ needsApproval: true });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    await approveToolCall(made.session, ref, { arguments: { card: OTHER } });
    expect(await contentOf(made.store, ref)).toBe(JSON.stringify(EXACT));
    expect(await editedOf(made.store, ref)).toBe(JSON.stringify({ card: OTHER }));
    await made.session.eraseMessage(`${ref.evaluationId}:2`);
    expect(await contentOf(made.store, ref)).toBeUndefined();
    expect(await editedOf(made.store, ref)).toBeUndefined();
    await made.evaluate({ resume: true });
    expect(made.given).toEqual([]);
  });

  test("edit a call that then starts: the model's arguments are dropped, and a rerun gets the edited ones", async () => {
    const made = await paying({ needsApproval: true, effect: 'once' });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    await approveToolCall(made.session, ref, { arguments: { card: OTHER } });
    const next = await made.again();
    await next.interrupt({ resume: true });
    expect(await contentOf(made.store, ref)).toBeUndefined();
    await settleToolCall(next.session, { ...ref, attempt: 1 }, { rerun: true });
    await (await made.again()).evaluate({ resume: true });
    expect(made.given).toEqual([{ card: OTHER }, { card: OTHER }]);
    expect(await editedOf(made.store, ref)).toBeUndefined();
  });

  test('without redaction edit in the log, as before', async () => {
    const { session, store, prompt, adapter } = await agent({
      script: [{ toolCalls: [call('pay', { n: 1 })] }, 'ok'],
      tools: [tool('pay', (input) => JSON.stringify(input), { needsApproval: true })],
    });
    const [ref] = (await adapter.evaluate(prompt, { session, input: 'go' })).pending as [CallRef];
    await approveToolCall(session, ref, { arguments: { n: 2 } });
    const approval = (await logOf(session)).at(-1);
    expect(approval).toMatchObject({ arguments: { n: 2 } });
    expect(approval).not.toHaveProperty('edited');
    expect(await editedOf(store, ref)).toBeUndefined();
    await adapter.evaluate(prompt, { session, resume: true });
    expect(resultText(session, ref.callId)).toContain('It ran with: {"n":2}');
  });
});

describe('D77: a call whose exact arguments are missing', () => {
  /** A session in another store, restored from a snapshot of this one. */
  const restored = async (made: Paying, rest: Parameters<typeof tool>[2]): Promise<Paying> => {
    const moved = await paying(rest, {}, made.given);
    await moved.session.restore(made.session.snapshot());
    return moved;
  };

  test('never runs and is recorded as failed if it was not started', async () => {
    const made = await paying({ needsApproval: true });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    await approveToolCall(made.session, ref);
    const moved = await restored(made, { needsApproval: true });
    await expect(readCallArguments(moved.session, ref)).rejects.toMatchObject({ code: 'CONTENT_NOT_FOUND' });
    expect(await moved.evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(made.given).toEqual([]);
    expect(resultText(moved.session, ref.callId)).toMatch(
      /^This call never ran: its exact arguments are not in this store/,
    );
  });

  test.for(['idempotent', 'once'] as const)(
    'has an unknown outcome if it was started, and a rerun is rejected, with effect %s',
    async (effect) => {
      const reconcile = (): never => {
        throw new Error('without arguments nobody is asked');
      };
      const made = await paying({ effect, reconcile });
      const ref = await made.interrupt();
      const moved = await restored(made, { effect, reconcile });
      const response = await moved.evaluate({ resume: true });
      expect(response).toMatchObject({ status: 'suspended', reason: 'TOOL_OUTCOME_UNKNOWN' });
      expect(response.message).not.toContain('rerun');
      await expect(settleToolCall(moved.session, ref, { rerun: true })).rejects.toMatchObject({
        code: 'CONTENT_NOT_FOUND',
        message: expect.stringContaining('cannot run again'),
      });
      await settleToolCall(moved.session, ref, { result: 'paid' });
      expect(await moved.evaluate({ resume: true })).toMatchObject({ status: 'completed' });
      expect(made.given).toEqual([EXACT]);
    },
  );

  test('runs with the arguments that a person approves instead', async () => {
    const made = await paying({ needsApproval: true });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    const moved = await restored(made, { needsApproval: true });
    await approveToolCall(moved.session, ref, { arguments: { card: OTHER } });
    await moved.evaluate({ resume: true });
    expect(made.given).toEqual([{ card: OTHER }]);
  });

  test('of a fork is closed as failed, and the origin keeps its own', async () => {
    const made = await paying({ needsApproval: true });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    const fork = await made.session.fork();
    expect(await made.store.readCallContent(fork.id, callKey(ref))).toBeUndefined();
    expect(getPendingToolCalls(fork)).toEqual([]);
    expect(await contentOf(made.store, ref)).toBeDefined();
  });

  test('is distinguished from a call of an older log, which has no mark and runs as it was recorded', async () => {
    const made = await paying({ needsApproval: true });
    await made.evaluate();
    const old = JSON.parse(JSON.stringify(await logOf(made.session)).replaceAll(/,"argumentsRedacted":true/g, ''));
    const store = memoryStore();
    await store.append('session', old, { id: 'old', expectedSeq: 0 });
    const next = await paying({ needsApproval: true }, { store }, made.given);
    const [ref] = getPendingToolCalls(next.session);
    await approveToolCall(next.session, ref as CallRef);
    await next.evaluate({ resume: true });
    expect(made.given).toEqual([{ card: '[card]' }]);
  });
});

describe('D77: redact', () => {
  test('runs once for each recorded event, whatever it returns', async () => {
    const seen: string[] = [];
    let n = 0;
    const random = (event: NewEvent): NewEvent => {
      const { message } = event as { message?: ConversationMessage };
      seen.push(message ? `${message.role} ${message.sequence}` : event.type);
      return JSON.parse(JSON.stringify(event).replaceAll(SECRET, () => `[${++n}]`)) as NewEvent;
    };
    const made = await paying({ effect: 'idempotent' }, { redact: random });
    await made.interrupt();
    const next = await made.again();
    await next.evaluate({ resume: true });
    expect(made.given).toEqual([EXACT, EXACT]);
    expect(seen.filter((one) => one === 'assistant 2')).toHaveLength(1);
    expect(seen).toHaveLength((await logOf(next.session)).length);
    expect(n).toBe(1);
  });

  test('may change its event', async () => {
    const inPlace = (event: NewEvent): NewEvent => {
      const { message } = event as { message?: { toolCalls?: { arguments: string }[] } };
      for (const one of message?.toolCalls ?? []) one.arguments = hide(one.arguments);
      return event;
    };
    const made = await paying({ effect: 'read' }, { redact: inPlace });
    await made.evaluate();
    expect(made.given).toEqual([EXACT]);
    expect(await shown(made)).not.toContain(SECRET);
  });

  test('that throws for a response records nothing of it and runs nothing', async () => {
    let broken = true;
    const throwing = (event: NewEvent): NewEvent => {
      if (broken && JSON.stringify(event).includes(SECRET)) throw new Error('cannot redact');
      return redact(event);
    };
    const made = await paying({ effect: 'once' }, { redact: throwing });
    await expect(made.evaluate()).rejects.toThrow('cannot redact');
    expect(made.given).toEqual([]);
    expect(JSON.stringify(await logOf(made.session))).not.toContain('assistant');
    broken = false;
    await (await made.again({ script: [{ toolCalls: [call('pay', EXACT)] }, 'ok'] })).evaluate({ resume: true });
    expect(made.given).toEqual([EXACT]);
  });

  test('that throws for a result leaves the call open, with its arguments', async () => {
    let broken = true;
    const throwing = (event: NewEvent): NewEvent => {
      if (broken && JSON.stringify(event).includes('"role":"tool"')) throw new Error('cannot redact');
      return redact(event);
    };
    const made = await paying({ effect: 'idempotent' }, { redact: throwing });
    await expect(made.evaluate()).rejects.toThrow('cannot redact');
    broken = false;
    await (await made.again()).evaluate({ resume: true });
    expect(made.given).toEqual([EXACT, EXACT]);
  });

  test.for([
    ['a call another id', (text: string) => text.replaceAll('call_1_1', 'renamed')],
    [
      'a message another type',
      (text: string) => text.replace('"message/recorded","message":{"id":"e1:2', '"my/event","message":{"id":"e1:2'),
    ],
    ['a message another turn', (text: string) => text.replaceAll('"turn":1', '"turn":7')],
    ['a message another place', (text: string) => text.replace('"sequence":2', '"sequence":9')],
    ['a message another role', (text: string) => text.replace('"role":"assistant"', '"role":"user"')],
  ] as const)('that returns %s is rejected: the loop would send requests without end', async ([, change]) => {
    const changing = (event: NewEvent): NewEvent => JSON.parse(change(hide(JSON.stringify(event)))) as NewEvent;
    const made = await paying({ effect: 'read' }, { redact: changing });
    await expect(made.evaluate({ evaluationId: 'e1' })).rejects.toMatchObject({ code: 'EVENT_INVALID' });
    expect(made.given).toEqual([]);
    expect(made.requests).toHaveLength(1);
  });

  test('a schema whose error quotes the arguments does not put them into the log', async () => {
    const onlyArguments = (event: NewEvent): NewEvent => {
      if (event.type !== 'message/recorded') return event;
      const { message } = event as { message: AssistantMessage };
      if (!message.toolCalls) return event;
      return {
        ...event,
        message: { ...message, toolCalls: message.toolCalls.map((one) => ({ ...one, arguments: '{}' })) },
      };
    };
    const pay = defineTool({
      name: 'pay',
      description: 'Pays',
      input: z.strictObject({ cents: z.number() }),
      execute: () => 'paid',
    });
    const { session, evaluate, store } = await agent({
      script: [{ toolCalls: [call('pay', { cents: 1, [SECRET]: true })] }, 'ok'],
      tools: [pay],
      redact: onlyArguments,
    });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_1')).toContain('do not fit its schema');
    const kept: unknown[] = [];
    for await (const event of store.read(session.id)) kept.push(event);
    expect(JSON.stringify(kept)).not.toContain(SECRET);
  });

  test('a call whose id no store accepts as a name runs with its exact arguments', async () => {
    const given: unknown[] = [];
    const pay = tool('pay', (input) => given.push(input), { effect: 'read' });
    const { evaluate } = await agent({
      script: [{ toolCalls: [{ ...call('pay', EXACT), id: 'a\0\ud800' }] }, 'ok'],
      tools: [pay],
      redact,
    });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(given).toEqual([EXACT]);
  });

  test('of a repeated message neither restores nor replaces the arguments of its call', async () => {
    const made = await paying({ needsApproval: true });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    const recorded = (await logOf(made.session)).find(
      (event) => event.type === 'message/recorded' && (event.message as ConversationMessage).role === 'assistant',
    ) as { message: AssistantMessage };
    const { argumentsRedacted: _, ...one } = (recorded.message.toolCalls as readonly [ToolCall])[0];
    const again = (text: string) => ({
      type: 'message/recorded',
      message: { ...recorded.message, toolCalls: [{ ...one, arguments: text }] },
    });
    await made.session.append([again(JSON.stringify({ card: OTHER }))]);
    expect(await contentOf(made.store, ref)).toBe(JSON.stringify(EXACT));
    await denyToolCall(made.session, ref);
    await made.session.append([again(JSON.stringify(EXACT))]);
    expect(await contentOf(made.store, ref)).toBeUndefined();
  });

  test('when absent costs nothing: no append and no read names a call', async () => {
    const store = memoryStore();
    const appends: unknown[] = [];
    let reads = 0;
    const { append, readCallContent } = store;
    store.append = (id, events, options) => {
      appends.push(options.callContents);
      return append(id, events, options);
    };
    store.readCallContent = (...args) => {
      reads++;
      return readCallContent(...args);
    };
    const made = await agent({
      store,
      script: [{ toolCalls: [call('pay', EXACT)] }, 'ok'],
      tools: [tool('pay', () => 1)],
    });
    await made.evaluate();
    expect(appends.filter(Boolean)).toEqual([]);
    expect(reads).toBe(0);
  });
});

describe('D77: other recorded and emitted text', () => {
  test('a parser’s error does not quote redacted arguments', async () => {
    const made = await paying(
      {},
      { script: [{ toolCalls: [{ name: 'pay', arguments: `{"card": ${SECRET}` }] }, 'ok'] },
    );
    await made.evaluate();
    expect(resultText(made.session, 'call_1_1')).toBe('The arguments of "pay" are not JSON');
  });

  /** A model that streams the arguments of a call, and breaks off or not. */
  function streaming(breaks: boolean): Model {
    return {
      provider: 'test',
      modelId: 'streaming',
      async *stream({ turn }): AsyncGenerator<ModelPart> {
        if (turn > 1)
          return yield { type: 'finish', answer: { content: [{ type: 'text', text: 'ok' }], toolCalls: [] } };
        yield { type: 'text-delta', blockId: 't', delta: 'Paying.' };
        yield { type: 'tool-input-delta', blockId: 'c', toolName: 'pay', delta: '{"card":"4111-' };
        if (breaks) throw new Error('it broke');
        yield { type: 'tool-input-delta', blockId: 'c', toolName: 'pay', delta: '1111"}' };
        const toolCalls = [{ callId: 'c', name: 'pay', arguments: JSON.stringify(EXACT) }];
        yield { type: 'finish', answer: { content: [{ type: 'text', text: 'Paying.' }], toolCalls } };
      },
    };
  }

  test('streaming arguments reach no listener, and text does', async () => {
    const made = await paying({}, { script: streaming(false) });
    await made.evaluate();
    const deltas = made.events.filter((event) => event.type === 'message/delta') as { kind?: string }[];
    expect(deltas.map(({ kind }) => kind)).toEqual(['text']);
    expect(made.given).toEqual([EXACT]);
  });

  test('interrupted arguments are omitted from message/interrupted, or pass through redactText', async () => {
    for (const redactText of [undefined, hide]) {
      const made = await paying(
        {},
        { script: streaming(true), adapter: { maxModelRetries: 0 }, ...(redactText && { redactText }) },
      );
      await made.evaluate();
      const log = JSON.stringify(await logOf(made.session));
      expect(log).toContain('message/interrupted');
      expect(log).toContain('Paying.');
      expect(log).not.toContain('4111');
    }
  });
});
