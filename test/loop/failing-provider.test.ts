import { describe, expect, test } from 'vitest';
import { type Model, type ModelRequest, type ScriptedTurn, scriptedModel } from '../../src/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { writeDraft } from '../support/write-draft.ts';
import { advancing, agent, call, eventTypes, said, tool } from './agent.ts';

/** A model whose first attempts at a turn fail. */
function failing(turns: readonly (readonly ScriptedTurn[])[]): Model {
  const attempts = new Map<number, number>();
  return scriptedModel(({ turn }) => {
    const attempt = attempts.get(turn) ?? 0;
    attempts.set(turn, attempt + 1);
    const tries = turns[turn - 1] ?? [];
    return tries[Math.min(attempt, tries.length - 1)] ?? '';
  });
}

describe('a provider that fails temporarily is retried', () => {
  test.for([429, 500, 503, 529])('%i', async (status) => {
    const clock = fakeClock();
    const { evaluate, requests, events } = await agent({
      script: failing([[{ error: { status } }, { error: { status } }, 'Here I am.']]),
      clock,
    });
    expect(await advancing(clock, evaluate())).toMatchObject({ status: 'completed', text: 'Here I am.', turns: 1 });
    expect(requests).toHaveLength(3);
    expect(requests[2]?.messages).toEqual(requests[0]?.messages);
    expect(events.filter((event) => event.type === 'model/retried')).toHaveLength(2);
  });

  test('429 with retry-after is retried at that time, not before', async () => {
    const clock = fakeClock();
    const asked: number[] = [];
    const model = failing([[{ error: { status: 429, retryAfterMs: 7_000 } }, 'ok']]);
    const { evaluate, events } = await agent({
      script: {
        ...model,
        stream: (request: ModelRequest) => {
          asked.push(clock.now());
          return model.stream(request);
        },
      },
      clock,
    });
    await advancing(clock, evaluate(), 1_000);
    expect((asked[1] ?? 0) - (asked[0] ?? 0)).toBeGreaterThanOrEqual(7_000);
    expect(events.find((event) => event.type === 'model/retried')).toMatchObject({
      waitMs: 7_000,
      attempt: 1,
      turn: 1,
    });
  });

  test("backoffs grow, with jitter from the adapter's own randomness", async () => {
    const waitsWith = async (random: () => number): Promise<readonly number[]> => {
      const clock = fakeClock();
      const { evaluate, events } = await agent({
        script: [{ error: { status: 500 } }],
        clock,
        adapter: { maxModelRetries: 3, random },
      });
      await advancing(clock, evaluate(), 1_000);
      return events.flatMap((event) => (event.type === 'model/retried' ? [event.waitMs as number] : []));
    };
    expect(await waitsWith(() => 0)).toEqual([250, 500, 1_000]);
    expect(await waitsWith(() => 1)).toEqual([500, 1_000, 2_000]);
  });

  test('a provider that keeps failing suspends the evaluation; a resume retries (D13)', async () => {
    const clock = fakeClock();
    let down = true;
    const { session, evaluate, requests } = await agent({
      script: () => (down ? { error: { status: 500 } } : 'Back.'),
      clock,
      adapter: { maxModelRetries: 2 },
    });
    const response = await advancing(clock, evaluate(), 1_000);
    const failure = { provider: 'scripted', status: 500 };
    expect(response).toMatchObject({ status: 'suspended', reason: 'PROVIDER_FAILED', pending: [], failure });
    for await (const event of session.events({ types: ['evaluation/suspended'] }))
      expect(event).toMatchObject({ failure });
    expect(response.message).toMatch(/after 3 tries.*500.*resume/);
    expect(requests).toHaveLength(3);
    down = false;
    expect(await evaluate({ resume: true })).toMatchObject({
      status: 'completed',
      text: 'Back.',
      evaluationId: response.evaluationId,
    });
    expect(said(session)).toEqual(['system: Do it.', 'user: Please.', 'assistant: Back.']);
  });

  test.for([400, 401, 404])('%i is not retried: it would fail again', async (status) => {
    const { evaluate, requests } = await agent({ script: [{ error: { status } }] });
    expect(await evaluate()).toMatchObject({ status: 'suspended', reason: 'PROVIDER_FAILED' });
    expect(requests).toHaveLength(1);
  });

  test('a model that throws any other error suspends, too: the conversation is not lost', async () => {
    const broken: Model = {
      provider: 'test',
      modelId: 'broken',
      stream() {
        throw new TypeError('x is not a function');
      },
    };
    const { evaluate } = await agent({ script: broken });
    expect(await evaluate()).toMatchObject({
      status: 'suspended',
      reason: 'PROVIDER_FAILED',
      failure: { provider: 'test' },
    });
  });

  test('a model that ends without a response is retried', async () => {
    const clock = fakeClock();
    const model = failing([['ok']]);
    let first = true;
    const { evaluate } = await agent({
      script: {
        ...model,
        async *stream(request: ModelRequest) {
          if (!first) yield* model.stream(request);
          first = false;
        },
      },
      clock,
    });
    expect(await advancing(clock, evaluate())).toMatchObject({ status: 'completed', text: 'ok' });
  });

  test('a cancelled backoff leaves no timer that keeps the process alive', async () => {
    const clock = fakeClock();
    const cancel = new AbortController();
    const { evaluate } = await agent({ script: [{ error: { status: 429, retryAfterMs: 50_000 } }], clock });
    const response = evaluate({
      signal: cancel.signal,
      onEvent: (event) => event.type === 'model/retried' && cancel.abort(),
    });
    expect(await response).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    expect(clock.waiting).toBe(0);
  });

  test("the model's stream is closed, whether it was read to the end or not", async () => {
    const ended: string[] = [];
    const model = failing([[{ text: 'half', error: { status: 400 } }]]);
    const noting = (script: Model): Model => ({
      ...script,
      async *stream(request: ModelRequest) {
        try {
          yield* script.stream(request);
        } finally {
          ended.push(script.modelId);
        }
      },
    });
    await (await agent({ script: noting(model) })).evaluate();
    await (await agent({ script: noting(scriptedModel(['whole'])) })).evaluate();
    expect(ended).toEqual(['scripted', 'scripted']);
  });
});

describe('D53: a connection that breaks during a response', () => {
  const cut: ScriptedTurn = { reasoning: 'Let me think', text: 'I was about to', error: { status: 500 } };

  test('the partial response is recorded as interrupted: shown, never sent', async () => {
    const clock = fakeClock();
    const { session, evaluate, requests, store } = await agent({ script: failing([[cut, cut, 'Now I can.']]), clock });
    const response = await advancing(clock, evaluate());
    expect(response).toMatchObject({ status: 'completed', text: 'Now I can.' });
    const interrupted = [];
    for await (const event of session.events()) if (event.type === 'message/interrupted') interrupted.push(event);
    const { evaluationId } = response;
    const blocks = [
      { blockId: `${evaluationId}:2:0`, kind: 'reasoning', text: 'Let me think' },
      { blockId: `${evaluationId}:2:1`, kind: 'text', text: 'I was about to' },
    ];
    expect(interrupted).toMatchObject([
      { evaluationId, conversationId: 'main', turn: 1, attempt: 1, blocks },
      { turn: 1, attempt: 2, blocks },
    ]);
    for (const { messages } of requests) expect(JSON.stringify(messages)).not.toContain('about to');
    expect(said(session)).toEqual(['system: Do it.', 'user: Please.', 'assistant: Now I can.']);
    expect(await store.readDraft(session.id)).toEqual([]);
  });

  test('it is erased with the message that was finally recorded (D58)', async () => {
    const clock = fakeClock();
    const { session, evaluate, store } = await agent({ script: failing([[cut, 'Now I can.']]), clock });
    const { evaluationId } = await advancing(clock, evaluate());
    await session.eraseMessage(`${evaluationId}:2`);
    const kept: unknown[] = [];
    for await (const event of store.read(session.id)) kept.push(event);
    expect(JSON.stringify(kept)).not.toMatch(/about to|Let me think|Now I can/);
  });

  test('without any text nothing is recorded', async () => {
    const clock = fakeClock();
    const { session, evaluate } = await agent({ script: failing([[{ error: { status: 500 } }, 'ok']]), clock });
    await advancing(clock, evaluate());
    expect(await eventTypes(session)).not.toContain('message/interrupted');
  });

  test('when cancelled, the partial response is recorded, and a resume requests it again', async () => {
    const cancel = new AbortController();
    const script = ['one two three'];
    const first = await agent({ script });
    const response = await first.evaluate({
      signal: cancel.signal,
      onEvent: (event) => event.type === 'message/delta' && event.delta === 'two ' && cancel.abort(),
    });
    expect(response).toMatchObject({ status: 'suspended', reason: 'CANCELLED', text: '' });
    const types = await eventTypes(first.session);
    expect(types.slice(-2)).toEqual(['message/interrupted', 'evaluation/suspended']);
    const second = await agent({ script, store: first.store });
    expect(await second.evaluate({ resume: 'auto' })).toMatchObject({ status: 'completed', text: 'one two three' });
  });

  test('a draft is written while the response streams, and removed when it is recorded', async () => {
    const clock = fakeClock();
    const { session, evaluate, store } = await agent({
      script: scriptedModel(['one two three'], { beforePart: () => clock.advance(200) }),
      clock,
    });
    const seen: string[] = [];
    const { promise: written, resolve } = Promise.withResolvers<void>();
    const appendDraft = store.appendDraft.bind(store);
    store.appendDraft = async (id, chunks, options) => {
      await appendDraft(id, chunks, options);
      seen.push(...chunks.map((chunk) => chunk.delta));
      resolve();
    };
    await evaluate();
    await written;
    expect(seen.join('')).toBe('one two three'.slice(0, seen.join('').length));
    expect(await store.readDraft(session.id)).toEqual([]);
  });

  test('a draft that cannot be written does not fail the response', async () => {
    const clock = fakeClock();
    const { evaluate, store } = await agent({
      script: scriptedModel(['one two'], { beforePart: () => clock.advance(200) }),
      clock,
    });
    store.appendDraft = () => Promise.reject(new Error('the disk is full'));
    expect(await evaluate()).toMatchObject({ status: 'completed', text: 'one two' });
  });

  test('a draft of a killed process becomes interrupted on resume, and when a new evaluation replaces it', async () => {
    for (const resume of ['auto', false] as const) {
      const first = await agent({ script: [{ error: { status: 400 } }] });
      const { evaluationId } = await first.evaluate();
      const place = { evaluationId, turn: 1, attempt: 3, blockId: `${evaluationId}:2:0` };
      const chunk = { ...place, kind: 'reasoning' as const, delta: 'I was' };
      const earlier = { ...chunk, attempt: 2, delta: 'An attempt that broke before. ' };
      await writeDraft(first.store, 'session', [earlier, chunk, { ...chunk, delta: ' saying' }]);
      const second = await agent({ script: ['ok'], store: first.store });
      await second.evaluate({ resume });
      const interrupted = [];
      for await (const event of second.session.events())
        if (event.type === 'message/interrupted') interrupted.push(event);
      expect(interrupted).toMatchObject([
        {
          evaluationId,
          turn: 1,
          attempt: 3,
          blocks: [{ blockId: chunk.blockId, kind: 'reasoning', text: 'I was saying' }],
        },
      ]);
      expect(await first.store.readDraft('session')).toEqual([]);
      const deltas = second.events.flatMap((event) => (event.type === 'message/delta' ? [event.attempt] : []));
      expect(new Set(deltas)).toEqual(new Set([resume === 'auto' ? 4 : 1])); // a reader of the old attempt drops its text
    }
  });

  test('a draft of a turn that was recorded is dropped', async () => {
    const first = await agent({
      script: [{ text: 'said', toolCalls: [call('ask')] }, 'ok'],
      tools: [tool('ask', () => 'yes', { needsApproval: true })],
    });
    const { evaluationId } = await first.evaluate();
    await writeDraft(first.store, 'session', [{ evaluationId, turn: 1, attempt: 1, blockId: 'b', delta: 'said' }]);
    await first.evaluate({ resume: true });
    expect(await eventTypes(first.session)).not.toContain('message/interrupted');
    expect(await first.store.readDraft('session')).toEqual([]);
  });
});
