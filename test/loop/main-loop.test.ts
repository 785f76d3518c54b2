import { setImmediate } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createAdapter, definePrompt, MainLoop, type ProviderAdapter } from '../../src/evaluate.ts';
import { memoryStore, openSession, scriptedModel } from '../../src/index.ts';
import type { PreparedRequest } from '../../src/loop/main-loop/main-loop.ts';
import { call, said, tool } from './agent.ts';
import { loopWith, request } from './loop-with.ts';

describe('with a store', () => {
  test('prepare, execute, finalize: returns the response and its session', async () => {
    const store = memoryStore();
    const finalize = vi.fn();
    const { loop } = loopWith({ store, finalize });
    const response = await loop.execute(request);
    expect(response).toMatchObject({ status: 'completed', text: 'ok', sessionId: 'r1' });
    expect(finalize.mock.calls).toMatchObject([[request, response, { id: 'r1' }]]);
    expect(said(await openSession({ store, id: 'r1' }))).toEqual([
      'system: Study birds.',
      'user: About birds',
      'assistant: ok',
    ]);
  });

  test('the same call works before and after a crash, and after the end', async () => {
    const store = memoryStore();
    const script = [{ toolCalls: [call('look')] }, 'ok'];
    const hang = loopWith({ store, script, tools: [tool('look', () => new Promise(() => {}), { effect: 'read' })] });
    void hang.loop.execute(request).catch(() => {});
    while (hang.requests.length === 0 || (await store.head('r1')).seq < 4) await setImmediate();
    await store.releaseLease('r1', (await store.readLease('r1'))?.fence ?? 0); // the process was killed
    const tools = [tool('look', () => 'seen', { effect: 'read' })];
    const second = loopWith({ store, script, tools });
    expect(await second.loop.execute(request)).toMatchObject({ status: 'completed', text: 'ok', turns: 2 });
    expect(second.requests).toHaveLength(1); // the first response was recorded
    const third = loopWith({ store, script, tools });
    expect(await third.loop.execute(request)).toMatchObject({ status: 'completed', text: 'ok' });
    expect(third.requests).toEqual([]);
  });

  test('finalize is called at least once: after a crash in it, again with the recorded response', async () => {
    const store = memoryStore();
    const finalize = vi.fn().mockRejectedValueOnce(new Error('the mail server is down'));
    const { loop, requests } = loopWith({ store, finalize });
    await expect(loop.execute(request)).rejects.toThrow('the mail server is down');
    expect(await loop.execute(request)).toMatchObject({ text: 'ok' });
    expect(finalize).toHaveBeenCalledTimes(2);
    expect(requests).toHaveLength(1);
  });

  test("inputs that are sent while the request runs are placed, or run after it; the response is the request's own", async () => {
    const store = memoryStore();
    const look = tool('look', async () => {
      const other = await openSession({ store, id: 'r1' });
      await other.send('And fish.', { id: 'next' });
      await other.send('Only seabirds.', { id: 'steer', mode: 'steer' });
      return 'seen';
    });
    const { loop } = loopWith({ store, script: [{ toolCalls: [call('look')] }, 'ok'], tools: [look] });
    const response = await loop.execute(request);
    const session = await openSession({ store, id: 'r1' });
    expect(said(session)).toEqual([
      'system: Study birds.',
      'user: About birds',
      'assistant: ',
      'tool: seen',
      'user: Only seabirds.',
      'assistant: ok',
      'system: Study birds.',
      'user: And fish.',
      'assistant: ',
      'tool: seen',
      'assistant: ok',
    ]);
    expect(session.queue()).toEqual([]);
    expect(response).toMatchObject({ status: 'completed', turns: 2 });
    expect(await loop.execute(request)).toMatchObject({ evaluationId: response.evaluationId });
  });

  test('a suspended request is not finalized', async () => {
    const finalize = vi.fn();
    const { loop } = loopWith({ store: memoryStore(), finalize, script: [{ error: { status: 400 } }] });
    expect(await loop.execute(request)).toMatchObject({ status: 'suspended' });
    expect(finalize).not.toHaveBeenCalled();
  });

  test('prepare and finalize may be overridden in a subclass', async () => {
    const seen: string[] = [];
    const prompt = definePrompt({ ns: 'test', key: 'sub', instructions: 'Hi.' });
    class Greeter extends MainLoop<string> {
      constructor(adapter: ProviderAdapter) {
        super({ adapter, store: memoryStore() });
      }
      override async prepare(name: string): Promise<PreparedRequest<undefined>> {
        return { prompt, input: name, sessionId: `greet-${name.length}` };
      }
      override async finalize(name: string): Promise<void> {
        seen.push(name);
      }
    }
    const greeter = new Greeter(createAdapter({ model: scriptedModel(['hello']) }));
    expect(await greeter.execute('Ada')).toMatchObject({ text: 'hello', sessionId: 'greet-3' });
    expect(seen).toEqual(['Ada']);
  });

  test('without prepare the error names what is missing', async () => {
    const loop = new MainLoop({ adapter: createAdapter({ model: scriptedModel([]) }) });
    await expect(loop.execute('x')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('a request may be any text: long, with many lines, or empty', async () => {
    const prompt = definePrompt({ ns: 'test', key: 'any', instructions: 'Hi.' });
    const loop = new MainLoop<string>({
      adapter: createAdapter({ model: scriptedModel(['hello']) }),
      prepare: (input) => ({ prompt, input }),
      store: memoryStore(),
    });
    const names = [];
    for (const text of ['short', 'two\nlines', 'x'.repeat(2_000), '']) names.push((await loop.execute(text)).sessionId);
    expect(names[0]).toBe('short');
    expect(new Set(names).size).toBe(4);
  });

  test('requests run concurrently', async () => {
    const { loop } = loopWith({ store: memoryStore() });
    const answers = await Promise.all(['a', 'b', 'c'].map((id) => loop.execute({ id, topic: id })));
    expect(answers.map(({ sessionId }) => sessionId)).toEqual(['a', 'b', 'c']);
  });
});

describe('onInvalid: a recorded conversation that cannot be continued', () => {
  async function broken(store = memoryStore()) {
    await loopWith({ store, script: [{ error: { status: 400 } }] }).loop.execute(request);
    return store;
  }

  test('fail, the default: throws, and changes nothing', async () => {
    const store = await broken();
    const before = await store.head('r1');
    const { loop } = loopWith({ store, instructions: 'Study {{topic}} well.' });
    await expect(loop.execute(request)).rejects.toMatchObject({ code: 'PROMPT_MISMATCH' });
    expect(await store.head('r1')).toEqual(before);
  });

  test('restart: starts again', async () => {
    const store = await broken();
    const { loop } = loopWith({ store, instructions: 'Study {{topic}} well.', onInvalid: 'restart' });
    expect(await loop.execute(request)).toMatchObject({ status: 'completed', text: 'ok' });
    const session = await openSession({ store, id: 'r1' });
    expect(session.state.record.evaluations.items.map(({ status }) => status)).toEqual(['superseded', 'completed']);
  });

  test('restart: also for a response that does not fit the current schema', async () => {
    const store = memoryStore();
    await loopWith({ store, script: ['1'], output: z.number() }).loop.execute(request);
    const next = { store, script: ['{"n":1}'], output: z.object({ n: z.number() }) };
    await expect(loopWith(next).loop.execute(request)).rejects.toMatchObject({ code: 'OUTPUT_INVALID' });
    expect(await loopWith({ ...next, onInvalid: 'restart' }).loop.execute(request)).toMatchObject({ output: { n: 1 } });
  });

  test('restart does not apply to an evaluation that failed in this run: it would fail again', async () => {
    const { loop, requests } = loopWith({
      store: memoryStore(),
      script: ['no', 'no', 'no', 'no'],
      output: z.number(),
      onInvalid: 'restart',
    });
    await expect(loop.execute(request)).rejects.toMatchObject({ code: 'OUTPUT_INVALID' });
    expect(requests).toHaveLength(3);
  });

  test('restart does not apply to a session that another process runs', async () => {
    const store = memoryStore();
    await store.acquireLease('r1', { holder: { id: 'x', host: 'far', pid: 1, startedAt: '' }, ttlMs: 60_000 });
    const { loop } = loopWith({ store, onInvalid: 'restart' });
    await expect(loop.execute(request)).rejects.toMatchObject({ code: 'SESSION_BUSY' });
  });
});
