import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { definePrompt, type Prompt } from '../../src/evaluate.ts';
import {
  type AnyTool,
  defineSlice,
  type ModelRequest,
  type ScriptedTurn,
  scriptedModel,
  type ToolContext,
} from '../../src/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { advancing, agent, call, deferred, resultText, said, tool } from './agent.ts';

/** A script that calls `delegate` once and then responds; children respond by their own script. */
function script(child: (request: ModelRequest) => ScriptedTurn): (request: ModelRequest) => ScriptedTurn {
  return (request) => {
    if (request.prompt.key === 'child') return child(request);
    return request.turn === 1 ? { toolCalls: [call('delegate')] } : 'The end.';
  };
}
const childWith = (tools: readonly AnyTool[] = [], instructions = 'Research.'): Prompt =>
  definePrompt({ ns: 'test', key: 'child', instructions, tools });
const delegate = (execute: (context: ToolContext) => unknown, rest: Partial<AnyTool> = {}): AnyTool =>
  tool('delegate', (_, context) => execute(context), { effect: 'idempotent', ...rest });

describe('D52: a child conversation', () => {
  test("is in the parent's log under its own id, and returns its response to the handler", async () => {
    const child = childWith();
    const { session, evaluate } = await agent({
      script: script(() => 'found it'),
      tools: [delegate(async (context) => `they say: ${(await context.evaluate(child, { input: 'Where?' })).text}`)],
    });
    const response = await evaluate();
    expect(resultText(session, 'call_1_1')).toBe('they say: found it');
    const [parent, own] = session.state.record.evaluations.items.toArray();
    expect(own).toMatchObject({
      conversationId: `${parent?.id}/1/call_1_1/1`,
      parent: { evaluationId: parent?.id, turn: 1, callId: 'call_1_1' },
      status: 'completed',
    });
    expect(said(session, own?.id)).toEqual(['system: Research.', 'user: Where?', 'assistant: found it']);
    expect(said(session).some((line) => line.includes('Where?'))).toBe(false); // not in the main conversation
    expect(response.usage.inputTokens).toBe((parent?.usage.inputTokens ?? 0) + (own?.usage.inputTokens ?? 0));
  });

  test("several are named by key, or by their position among the call's children", async () => {
    const child = childWith();
    const { session, evaluate } = await agent({
      script: script(({ messages }) => `re: ${messages.length}`),
      tools: [
        delegate(async (context) => {
          await context.evaluate(child);
          await Promise.all([context.evaluate(child, { key: 'a' }), context.evaluate(child, { key: 'b' })]);
          await context.evaluate(child);
        }),
      ],
    });
    const { evaluationId } = await evaluate();
    const names = session.state.record.evaluations.items.map(({ conversationId }) => conversationId).slice(1);
    const prefix = `${evaluationId}/1/call_1_1`;
    expect(names.toSorted()).toEqual([`${prefix}/1`, `${prefix}/4`, `${prefix}/a`, `${prefix}/b`]);
  });

  test('two with one name are rejected: the second would be taken for the first', async () => {
    const child = childWith();
    const { session, evaluate } = await agent({
      script: script(() => 'hi'),
      tools: [delegate((context) => Promise.all(['a', 'a'].map((key) => context.evaluate(child, { key }))))],
    });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_1')).toMatch(/has a child conversation "a" already/);
  });

  test('structured output, parameters and nesting', async () => {
    const grandchild = definePrompt({ ns: 'test', key: 'grandchild', instructions: 'Say {{word}}.' });
    const child = definePrompt({
      ns: 'test',
      key: 'child',
      instructions: 'Count.',
      tools: [
        tool('deeper', async (_, context) => (await context.evaluate(grandchild, { params: { word: 'hi' } })).text, {
          effect: 'idempotent',
        }),
      ],
      output: z.object({ n: z.number() }),
    });
    const { session, evaluate } = await agent({
      script: (request) => {
        if (request.prompt.key === 'grandchild') return request.messages.map(({ role }) => role).join();
        return script(({ turn }) => (turn === 1 ? { toolCalls: [call('deeper')] } : '{"n":3}'))(request);
      },
      tools: [delegate(async (context) => (await context.evaluate(child)).output?.n)],
    });
    await evaluate();
    expect(session.state.record.evaluations.length).toBe(3);
    expect(said(session, session.state.record.evaluations.items.at(2)?.id)).toEqual([
      'system: Say hi.',
      'assistant: system',
    ]);
    expect(said(session)).toContain('tool: 3');
  });

  test('is committed at once, and outlives a parent tool that fails', async () => {
    const child = childWith();
    const { session, evaluate } = await agent({
      script: script(() => 'found it'),
      tools: [
        delegate(async (context) => {
          await context.evaluate(child);
          throw new Error('and yet it failed');
        }),
      ],
    });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(session.state.record.evaluations.items.at(1)).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_1')).toBe('and yet it failed');
  });

  test('that fails throws in the handler, and is a failed result unless the handler catches it', async () => {
    const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Count.', output: z.number() });
    const { session, evaluate, results } = await agent({
      script: script(() => 'not a number'),
      tools: [delegate((context) => context.evaluate(child, { outputRetries: 0 }))],
    });
    expect(await evaluate()).toMatchObject({ status: 'completed', text: 'The end.' });
    expect(results().call_1_1?.isError).toBe(true);
    expect(resultText(session, 'call_1_1')).toMatch(/does not fit the output schema/);
  });

  test('after a crash in it, the child resumes, then the parent; completed children return their recorded responses', async () => {
    const runs: string[] = [];
    const gate = deferred();
    const hang = tool('work', () => gate.promise.then(() => new Promise(() => {})), { effect: 'idempotent' });
    const work = tool('work', (_, { isResume }) => `worked ${runs.push(String(isResume))}`, { effect: 'idempotent' });
    const make = (own: AnyTool): readonly AnyTool[] => {
      const child = childWith([own]);
      return [
        delegate(async (context) => {
          const first = await context.evaluate(child, { key: 'first', input: 'quick' });
          const second = await context.evaluate(child, { key: 'second', input: 'slow' });
          return `${first.text} ${second.text}`;
        }),
      ];
    };
    const answers = script(({ turn, messages }) =>
      JSON.stringify(messages).includes('quick')
        ? 'quick one'
        : turn === 1
          ? { toolCalls: [call('work')] }
          : 'slow one',
    );
    const first = await agent({ script: answers, tools: make(hang) });
    void first.evaluate();
    while (first.session.state.record.toolStarts.length < 2) await setImmediate();
    await first.store.releaseLease('session', (await first.store.readLease('session'))?.fence ?? 0);
    const second = await agent({ script: answers, tools: make(work), store: first.store });
    expect(await second.evaluate({ resume: 'auto' })).toMatchObject({ status: 'completed', text: 'The end.' });
    expect(said(second.session)).toContain('tool: quick one slow one');
    expect(runs).toEqual(['true']);
    expect(second.session.state.record.evaluations.length).toBe(3);
    expect(second.requests.filter(({ messages }) => JSON.stringify(messages).includes('quick"'))).toEqual([]);
    gate.resolve();
  });

  test.for([
    ['the provider fails', { error: { status: 400 } }, 'PROVIDER_FAILED', {}],
    ['its turns are used up', { toolCalls: [call('look')] }, 'TURN_LIMIT', { maxTurns: 2 }],
  ] as const)(
    'that is suspended because %s suspends its parent, with its reason',
    async ([, said, reason, options]) => {
      const child = childWith([tool('look', () => 'seen', { effect: 'read' })]);
      let broken = true;
      const { evaluate, requests } = await agent({
        script: script(() => (broken ? said : 'better')),
        tools: [delegate(async (context) => (await context.evaluate(child, broken ? options : {})).text)],
      });
      expect(await evaluate()).toMatchObject({ status: 'suspended', reason, pending: [] });
      const asked = requests.length;
      expect(asked).toBeLessThan(5);
      broken = false;
      expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'The end.' });
    },
  );

  test('that waits does not prevent its handler from continuing', async () => {
    const child = childWith();
    const { session, evaluate } = await agent({
      script: script(() => ({ error: { status: 400 } })),
      tools: [delegate((context) => context.evaluate(child).catch(() => 'nobody answered'))],
    });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_1')).toBe('nobody answered');
  });

  test('with a changed prompt on resume is rejected like any other (D4), and the error is not sent to the model', async () => {
    const fails = script(() => ({ error: { status: 400 } }));
    const first = await agent({ script: fails, tools: [delegate((context) => context.evaluate(childWith()))] });
    await first.evaluate();
    const changed = delegate(async (context) => (await context.evaluate(childWith([], 'Do research.'))).text);
    const second = await agent({ script: script(() => 'found'), tools: [changed], store: first.store });
    await expect(second.evaluate({ resume: true })).rejects.toMatchObject({ code: 'PROMPT_MISMATCH' });
    expect(resultText(second.session, 'call_1_1')).toBeUndefined();
    // Relaxed applies to the children, too.
    expect(await second.evaluate({ resume: true, promptValidation: 'relaxed' })).toMatchObject({ status: 'completed' });
    expect(resultText(second.session, 'call_1_1')).toBe('found');
  });
});

describe('a child ends with the call that started it', () => {
  test("when the tool times out: it stops, and nothing is written after the parent's result", async () => {
    const clock = fakeClock();
    const late = deferred<string>();
    const child = childWith([tool('slow', () => late.promise, { effect: 'read' })]);
    const { session, evaluate } = await agent({
      script: script(() => ({ toolCalls: [call('slow')] })),
      tools: [delegate((context) => context.evaluate(child), { timeoutMs: 1_000 })],
      clock,
    });
    expect(await advancing(clock, evaluate())).toMatchObject({ status: 'completed', text: 'The end.' });
    expect(resultText(session, 'call_1_1')).toBe('"delegate" did not return within 1000 ms');
    const { seq } = session;
    late.resolve('at last');
    for (let i = 0; i < 20; i++) await setImmediate();
    await session.refresh();
    expect(session.seq).toBe(seq);
  });

  test('and continues when the call is retried after a timeout', async () => {
    const clock = fakeClock();
    const late = deferred<string>();
    let runs = 0;
    const step = tool(
      'step',
      () => {
        if (++runs === 1) return late.promise;
        late.resolve('too late');
        return 'stepped';
      },
      { effect: 'read' },
    );
    const child = childWith([step]);
    const { session, evaluate, requests } = await agent({
      script: script(({ turn }) => (turn === 1 ? { toolCalls: [call('step')] } : 'arrived')),
      tools: [delegate(async (context) => (await context.evaluate(child)).text, { timeoutMs: 1_000, retries: 1 })],
      clock,
    });
    expect(await advancing(clock, evaluate())).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_1')).toBe('arrived');
    const asked = requests.filter(({ prompt }) => prompt.key === 'child').map(({ turn }) => turn);
    expect(asked).toEqual([1, 2]);
    expect(said(session, session.state.record.evaluations.items.at(1)?.id)).toEqual([
      'system: Research.',
      'assistant: ',
      'tool: stepped',
      'assistant: arrived',
    ]);
  });

  test('when the handler does not wait for it', async () => {
    const late = deferred<unknown>();
    const child = childWith();
    const { session, evaluate } = await agent({
      script: scriptedModel(
        script(() => 'found'),
        { beforePart: (_, { prompt }) => (prompt.key === 'child' ? new Promise(() => {}) : undefined) },
      ),
      tools: [
        delegate((context) => {
          void context.evaluate(child); // not awaited
          setTimeout(() => context.evaluate(child).catch(late.resolve));
          return 'done';
        }),
      ],
    });
    expect(await evaluate()).toMatchObject({ status: 'completed', text: 'The end.' });
    expect(await late.promise).toMatchObject({ code: 'SESSION_CLOSED' });
    const { seq } = session;
    for (let i = 0; i < 10; i++) await setImmediate();
    expect(session.seq).toBe(seq);
  });

  test('when it is cancelled: both are recorded as suspended before evaluate returns', async () => {
    const cancel = new AbortController();
    const child = childWith([tool('hang', () => new Promise(() => cancel.abort()), { effect: 'read' })]);
    const { session, evaluate, store } = await agent({
      script: script(() => ({ toolCalls: [call('hang')] })),
      tools: [delegate((context) => context.evaluate(child))],
    });
    expect(await evaluate({ signal: cancel.signal })).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    expect(session.state.record.evaluations.items.map(({ status }) => status)).toEqual(['suspended', 'suspended']);
    expect((await store.head('session')).seq).toBe(session.seq);
  });
});

test('D20, D21: a store that fails in a child stops the run; the error is not sent to the model', async () => {
  const notes = defineSlice({ name: 'notes', initial: [] as string[], on: {} });
  const child = childWith();
  const { session, evaluate, store } = await agent({
    script: script(() => 'found'),
    tools: [delegate((context) => context.evaluate(child).catch(() => 'the child broke'))],
    slices: [notes],
  });
  const append = store.append.bind(store);
  let broken = true;
  store.append = (id, events, options) =>
    broken && JSON.stringify(events).includes('Research.')
      ? Promise.reject(new Error('the disk is full'))
      : append(id, events, options);
  await expect(evaluate()).rejects.toThrow('the disk is full');
  expect(resultText(session, 'call_1_1')).toBeUndefined();
  broken = false;
  expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'The end.' });
});
