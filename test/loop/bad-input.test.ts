import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  defineTool,
  type Model,
  type ModelResponse,
  memoryStore,
  openSession,
  type ScriptedTurn,
  type Session,
  type Store,
  textOf,
} from '../../src/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { advancing, agent, call, resultText, said, tool } from './agent.ts';

/** Mistakes of models and tools. Each becomes a failed result that the model receives; none loses the conversation (D20). */

const write = defineTool({
  name: 'write',
  description: 'Writes',
  input: z.object({ path: z.string(), lines: z.array(z.number()).optional() }),
  effect: 'idempotent',
  execute: ({ path }) => `wrote ${path}`,
});

describe('D20: a wrong call becomes a failed result, and the conversation continues', () => {
  test.for<readonly [string, ScriptedTurn, RegExp]>([
    ['an unknown tool', { toolCalls: [call('wriet')] }, /There is no tool "wriet"\. There are: write\./],
    ['a name of nothing', { toolCalls: [call('')] }, /There is no tool ""/],
    ['a name from Object.prototype', { toolCalls: [call('constructor')] }, /There is no tool "constructor"/],
    ['malformed JSON', { toolCalls: [call('write', '{"path": "a')] }, /The arguments of "write" are not JSON/],
    ['two JSON values', { toolCalls: [call('write', '{"path":"a"}{}')] }, /are not JSON/],
    ['no arguments', { toolCalls: [call('write', '')] }, /do not fit its schema: path: /],
    ['arguments of another type', { toolCalls: [call('write', '[]')] }, /do not fit its schema/],
    ['null', { toolCalls: [call('write', 'null')] }, /do not fit its schema/],
    ['a wrong field', { toolCalls: [call('write', { path: 'a', lines: [1, 'x'] })] }, /lines\.1: /],
  ])('%s', async ([, turn, problem]) => {
    const { session, evaluate, requests } = await agent({ script: [turn, 'Sorry.'], tools: [write] });
    const response = await evaluate();
    expect(response).toMatchObject({ status: 'completed', text: 'Sorry.', turns: 2 });
    const sent = requests[1]?.messages.at(-1);
    expect(sent).toMatchObject({ role: 'tool', toolCallId: 'call_1_1', isError: true });
    expect(sent && textOf(sent)).toMatch(problem);
    expect(session.state.record.toolStarts.length).toBe(0); // nothing was started, so no outcome can be unknown after a crash
  });

  test('a tool that throws', async () => {
    const boom = tool('boom', () => {
      throw new Error('the disk is read-only');
    });
    const { session, evaluate } = await agent({ script: [{ toolCalls: [call('boom')] }, 'I see.'], tools: [boom] });
    expect(await evaluate()).toMatchObject({ status: 'completed', text: 'I see.' });
    expect(said(session)).toContain('tool: the disk is read-only');
  });

  test.for<readonly [string, unknown]>([
    ['a string', 'just text'],
    ['undefined', undefined],
    ['an object without a message', { code: 1 }],
    ['an object without a prototype', Object.create(null)],
    ['an error whose message cannot be read', hostileError()],
  ])('a tool that throws %s', async ([, thrown]) => {
    const boom = tool('boom', async () => {
      throw thrown;
    });
    const { evaluate, results } = await agent({ script: [{ toolCalls: [call('boom')] }, 'I see.'], tools: [boom] });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(results().call_1_1?.isError).toBe(true);
  });

  test('a schema that throws is treated as a validation error', async () => {
    const input = z.object({ n: z.number() }).refine(() => {
      throw new Error('the schema broke');
    });
    const odd = tool('odd', () => 'ran', { input });
    const { session, evaluate } = await agent({ script: [{ toolCalls: [call('odd', { n: 1 })] }, 'ok'], tools: [odd] });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_1')).toMatch(/the schema broke/);
  });

  test('one wrong call does not stop its siblings', async () => {
    const { session, evaluate } = await agent({
      script: [{ toolCalls: [call('nope'), call('write', '{'), call('write', { path: 'c' })] }, 'ok'],
      tools: [write],
    });
    await evaluate();
    expect(resultText(session, 'call_1_3')).toBe('wrote c');
    expect(session.state.record.toolStarts.toArray().map((start) => start.callId)).toEqual(['call_1_3']);
  });
});

describe('a result that is not JSON', () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  const secretive = {
    toJSON() {
      throw new Error('not telling');
    },
  };
  test.for<readonly [string, unknown]>([
    ['a BigInt', { n: 1n }],
    ['a cycle', cycle],
    ['a toJSON that throws', secretive],
  ])('%s fails the call, once, and the message states that the tool did run', async ([, value]) => {
    let runs = 0;
    const odd = tool(
      'odd',
      () => {
        runs++;
        return value;
      },
      { effect: 'idempotent', retries: 3 },
    );
    const { session, evaluate, results } = await agent({ script: [{ toolCalls: [call('odd')] }, 'ok'], tools: [odd] });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(results().call_1_1?.isError).toBe(true);
    expect(resultText(session, 'call_1_1')).toMatch(/"odd" ran, but what it returned is not JSON/);
    expect(runs).toBe(1); // a retry would not help
  });

  test('a handler that changes its input and fails gets the original input again', async () => {
    const seen: unknown[] = [];
    const careless = tool(
      'careless',
      (input: { path?: string }) => {
        seen.push({ ...input });
        delete input.path;
        if (seen.length === 1) throw new Error('not yet');
        return 'read';
      },
      { effect: 'idempotent', retries: 1 },
    );
    const clock = fakeClock();
    const script = [{ toolCalls: [call('careless', { path: 'a.ts' })] }, 'ok'];
    const { evaluate } = await agent({ script, tools: [careless], clock });
    expect(await advancing(clock, evaluate())).toMatchObject({ status: 'completed' });
    expect(seen).toEqual([{ path: 'a.ts' }, { path: 'a.ts' }]);
  });

  test("functions of a tool that change their input do not change the handler's input", async () => {
    const seen: unknown[] = [];
    const careless = tool('careless', (input) => seen.push(input), {
      needsApproval: (input: { path?: string }) => {
        delete input.path;
        return false;
      },
    });
    const script = [{ toolCalls: [call('careless', { path: 'a.ts' })] }, 'ok'];
    const { evaluate } = await agent({ script, tools: [careless] });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(seen).toEqual([{ path: 'a.ts' }]);
  });

  test('from reconcile or a person does not stop the run either', async () => {
    const pay = tool('pay', () => new Promise(() => {}), {
      timeoutMs: 1_000,
      reconcile: () => ({ happened: true, result: 1n }),
    });
    const clock = fakeClock();
    const { evaluate, results } = await agent({ script: [{ toolCalls: [call('pay')] }, 'ok'], tools: [pay], clock });
    expect(await advancing(clock, evaluate())).toMatchObject({ status: 'completed' });
    expect(results().call_1_1?.isError).toBe(true);
  });

  test.for<readonly [string, unknown, string]>([
    ['a string as it is', 'a "b"', 'a "b"'],
    ['undefined as nothing', undefined, ''],
    ['null', null, 'null'],
    ['a number', 1, '1'],
    ['an object', { a: [1, null] }, '{"a":[1,null]}'],
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['a function', () => 1, ''],
  ])('%s', async ([, value, text]) => {
    const { session, evaluate } = await agent({
      script: [{ toolCalls: [call('give')] }, 'ok'],
      tools: [tool('give', () => value)],
    });
    await evaluate();
    expect(resultText(session, 'call_1_1')).toBe(text);
  });
});

describe('D11: ids of calls', () => {
  const echo = tool('echo', (input: { readonly n?: number }) => `echo ${input.n}`, { effect: 'idempotent' });

  test.for<readonly [string, readonly string[], readonly string[]]>([
    ['empty ones are made up', ['', ''], ['call_1_1', 'call_1_2']],
    ['repeated ones are distinguished', ['a', 'a', 'a'], ['a', 'a_2', 'a_3']],
    ['a made-up one does not take another’s', ['a', 'a', 'a_2'], ['a', 'a_2', 'a_2_2']],
    ['an empty one does not take another’s', ['call_1_2', ''], ['call_1_2', 'call_1_2_2']],
  ])('in one turn: %s', async ([, given, recorded]) => {
    const { session, evaluate, requests } = await agent({
      script: [{ toolCalls: given.map((id, n) => call('echo', { n }, id)) }, 'ok'],
      tools: [echo],
    });
    await evaluate();
    const asking = requests[1]?.messages.find((message) => message.role === 'assistant');
    expect(asking?.role === 'assistant' && asking.toolCalls?.map(({ callId }) => callId)).toEqual(recorded);
    recorded.forEach((id, n) => {
      expect(resultText(session, id)).toBe(`echo ${n}`);
    });
  });

  test('the same id in another turn is another call', async () => {
    const keys: string[] = [];
    const noting = tool('noting', (input: { readonly n: number }, context) => {
      keys.push(context.idempotencyKey);
      return `noted ${input.n}`;
    });
    const turns = [1, 2, 3].map((n) => ({ toolCalls: [call('noting', { n }, 'same')] }));
    const { session, evaluate } = await agent({ script: [...turns, 'ok'], tools: [noting] });
    expect(await evaluate()).toMatchObject({ status: 'completed', turns: 4 });
    expect(said(session).filter((line) => line.startsWith('tool'))).toEqual([
      'tool: noted 1',
      'tool: noted 2',
      'tool: noted 3',
    ]);
    expect(new Set(keys).size).toBe(3);
  });
});

test('an empty response ends the evaluation without text, and is not sent later (I4)', async () => {
  const { session, evaluate, requests } = await agent({ script: [{}] });
  expect(await evaluate()).toMatchObject({ status: 'completed', text: '', turns: 1 });
  expect(await evaluate({ continues: true, input: 'Are you there?' })).toMatchObject({ status: 'completed' });
  expect(requests[1]?.messages.map((message) => message.role)).toEqual(['system', 'user', 'user']);
  expect(session.state.record.messages.length).toBe(6); // but it is in the record (D35)
});

describe('D58: huge results', () => {
  test('are external content, and sent to the model in full, also by the process that resumes', async () => {
    const text = 'x'.repeat(50_000);
    const script: ScriptedTurn[] = [{ toolCalls: [call('big')] }, { toolCalls: [call('small')] }, 'ok'];
    let stop = true;
    const tools = [
      tool('big', () => text, { effect: 'read' }),
      tool('small', () => (stop ? Promise.reject(new Error('unreachable')) : 'small'), {
        effect: 'read',
        needsApproval: () => stop,
      }),
    ];
    const first = await agent({ script, tools, maxInlineLength: 10_000 });
    expect(await first.evaluate()).toMatchObject({ status: 'suspended', reason: 'APPROVAL_REQUIRED' });
    const recorded = first.results().call_1_1;
    expect(JSON.stringify(recorded).length).toBeLessThan(1_000);
    const sent = first.requests[1]?.messages.at(-1);
    expect(sent && textOf(sent)).toBe(text);

    stop = false;
    const second = await agent({ script, tools, maxInlineLength: 10_000, store: first.store });
    expect(await second.evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'ok' });
    const again = second.requests[0]?.messages.find((message) => message.role === 'tool');
    expect(again && textOf(again)).toBe(text);
  });
});

test('D58: a huge response is external content, and returned in full, live and from the record', async () => {
  const text = JSON.stringify({ text: 'x'.repeat(20_000) });
  const output = z.object({ text: z.string() });
  const first = await agent({ script: [text], output, maxInlineLength: 1_000 });
  const response = await first.evaluate();
  expect(response).toMatchObject({ status: 'completed', text, output: JSON.parse(text) });
  expect(first.session.state.record.messages.at(-1)?.content[0]).toMatchObject({ type: 'file' });
  const second = await agent({ script: [], output, store: first.store });
  expect(await second.evaluate({ resume: true })).toEqual(response);
});

describe('D58: a message that is erased while the evaluation runs', () => {
  const secret = 'my password is hunter2';

  test.for<readonly [string, (first: Session, store: Store) => Promise<Session>]>([
    ['by the same handle', async (first) => first],
    ['by another', (_, store) => openSession({ store, id: 'session' })],
  ])('%s is not sent again', async ([, open]) => {
    const store = memoryStore();
    const script: ScriptedTurn[] = [{ toolCalls: [call('work')] }, { toolCalls: [call('work')] }, 'ok'];
    let runs = 0;
    const work = tool('work', async () => {
      const user = first.session.state.record.messages.at(1);
      if (++runs === 2) await (await open(first.session, store)).eraseMessage(user?.id ?? '');
      return 'done';
    });
    const first = await agent({ script, tools: [work], store });
    expect(await first.evaluate({ input: secret })).toMatchObject({ status: 'completed', turns: 3 });
    const sent = first.requests.map(({ messages }) => JSON.stringify(messages).includes(secret));
    expect(sent).toEqual([true, true, false]);
    expect(first.requests[2]?.messages.map(({ role }) => role)).toEqual(
      ['system', 'user', 'assistant', 'tool', 'assistant', 'tool'], // nothing else is missing
    );
  });
});

test('D58: a message that is erased during the backoff is not sent by the retry', async () => {
  const clock = fakeClock();
  let tries = 0;
  const erase = async (): Promise<void> => {
    if (++tries > 1) return;
    const user = first.session.state.record.messages.at(1);
    await first.session.eraseMessage(user?.id ?? '');
  };
  const script = (): ScriptedTurn => (tries === 0 ? { error: { status: 500 } } : 'ok');
  const first = await agent({
    script,
    clock,
    adapter: { random: () => 0 },
  });
  const response = first.evaluate({
    input: 'my secret',
    onEvent: (event) => {
      if (event.type === 'model/retried') void erase();
    },
  });
  expect(await advancing(clock, response)).toMatchObject({ status: 'completed', text: 'ok' });
  expect(first.requests.map(({ messages }) => JSON.stringify(messages).includes('secret'))).toEqual([true, false]);
});

describe('a custom model', () => {
  const sound: ModelResponse = { content: [], toolCalls: [{ callId: 'c', name: 'write', arguments: '{"path":"a"}' }] };
  const saying = (response: unknown): Model => ({
    provider: 'own',
    modelId: 'own',
    async *stream({ turn }) {
      const last: ModelResponse = { content: [{ type: 'text', text: 'ok' }], toolCalls: [] };
      yield { type: 'finish', response: turn === 1 ? (response as ModelResponse) : last };
    },
  });

  test.for<readonly [string, unknown]>([
    ['no content', { ...sound, content: undefined }],
    ['a part that is none', { ...sound, content: ['hi'] }],
    ['a call without arguments', { ...sound, toolCalls: [{ callId: 'c', name: 'write' }] }],
    ['calls that are no list', { ...sound, toolCalls: undefined, content: 'hi' }],
    ['calls that are none', { ...sound, toolCalls: [null] }],
    ['calls that are a text', { ...sound, toolCalls: 'x' }],
    ['calls that are an object', { ...sound, toolCalls: {} }],
    ['what JSON cannot carry', { ...sound, usage: { inputTokens: 1n, outputTokens: 1 } }],
    ['a usage that is none', { ...sound, usage: { inputTokens: 'many' } }],
    ['nothing', undefined],
  ])(
    'that responds with %s causes a typed error, and the conversation continues with another model',
    async ([, response]) => {
      const first = await agent({ script: saying(response), tools: [write] });
      await expect(first.evaluate()).rejects.toMatchObject({ code: 'EVENT_INVALID' });
      expect(first.session.state.record.messages.toArray().map(({ role }) => role)).toEqual(['system', 'user']);
      const second = await agent({ script: saying(sound), tools: [write], store: first.store });
      expect(await second.evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'ok', turns: 2 });
    },
  );

  test('may change its response after it returned it', async () => {
    const response = structuredClone(sound) as unknown as { readonly toolCalls: { arguments: string }[] };
    const scribble = tool('write', () => {
      if (response.toolCalls[0]) response.toolCalls[0].arguments = 'scribbled over';
      return 'ok';
    });
    const { session, evaluate } = await agent({ script: saying(response), tools: [scribble] });
    await evaluate();
    expect(session.state.record.messages.at(2)).toMatchObject({ toolCalls: [{ arguments: '{"path":"a"}' }] });
  });
});

function hostileError(): Error {
  const error = new Error('x');
  Object.defineProperty(error, 'message', {
    get() {
      throw new Error('no');
    },
  });
  return error;
}
