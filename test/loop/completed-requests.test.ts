import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { type CheckpointHandler, definePrompt, fileCheckpoints } from '../../src/evaluate.ts';
import { memoryStore, type Snapshot } from '../../src/index.ts';
import type { KeptResponse } from '../../src/loop/main-loop/kept-response.ts';
import { thisProcess } from '../../src/session/process-identity.ts';
import { call, tool } from './agent.ts';
import { loopWith, type Request, request } from './loop-with.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-completed-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
});

const script = [{ toolCalls: [call('pay')] }, 'paid'];

describe('a completed request', () => {
  test('returns its recorded response: no request, tool or finalize runs again', async () => {
    const pay = vi.fn((_: unknown, { idempotencyKey }: { idempotencyKey: string }) => idempotencyKey);
    const finalize = vi.fn();
    const process = () =>
      loopWith({ script, tools: [tool('pay', pay)], checkpoints: fileCheckpoints<Request>(dir), finalize });
    const first = await process().loop.execute(request);
    const second = process();
    expect(await second.loop.execute(request)).toEqual(first);
    expect(first).toMatchObject({ status: 'completed', text: 'paid', turns: 2 });
    expect(second.requests).toEqual([]);
    expect(pay).toHaveBeenCalledTimes(1);
    expect(finalize).toHaveBeenCalledTimes(1);
  });

  test('with an output schema returns its parsed output', async () => {
    const output = z.object({ on: z.string().transform((text) => new Date(text)) });
    const options = { output, script: ['{"on":"2026-01-02"}'], checkpoints: fileCheckpoints<Request>(dir) };
    const first = await loopWith(options).loop.execute(request);
    expect(first.output).toEqual({ on: new Date('2026-01-02') });
    expect(await loopWith({ ...options, script: [] }).loop.execute(request)).toEqual(first);
  });

  test('with a custom handler: complete gets the response, load returns it', async () => {
    const kept = new Map<string, Snapshot | KeptResponse>();
    const checkpoints: CheckpointHandler<Request> = {
      load: async ({ id }) => kept.get(id),
      save: async ({ id }, snapshot) => void kept.set(id, snapshot),
      clear: async ({ id }) => void kept.delete(id),
      complete: async ({ id }, answer) => void kept.set(id, answer),
    };
    const first = await loopWith({ checkpoints }).loop.execute(request);
    expect(kept.get('r1')).toMatchObject({ status: 'completed', text: 'ok' });
    const second = loopWith({ checkpoints });
    expect(await second.loop.execute(request)).toEqual(first);
    expect(second.requests).toEqual([]);
  });

  test("without complete the handler's clear is called, and a second run has the idempotency keys of the first", async () => {
    const { complete: _, lock: __, ...checkpoints } = fileCheckpoints<Request>(dir);
    const keys: string[] = [];
    const pay = tool('pay', (_input, { idempotencyKey }) => `paid ${keys.push(idempotencyKey)}`);
    for (let i = 0; i < 2; i++) await loopWith({ script, tools: [pay], checkpoints }).loop.execute(request);
    expect(readdirSync(dir)).toEqual([]);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1); // the payment service can recognise the repeated payment
  });

  test.for([
    ['input', { input: 'other' }],
    ['params', { params: { topic: 'fish' } }],
    ['key', { key: 'other' }],
  ] as const)('with other %s runs: it is another request', async ([, change]) => {
    const prompt = definePrompt({ ns: 'test', key: 'study', instructions: 'Study {{topic}}.' });
    const base = { prompt, input: 'Go.', params: { topic: 'birds' } };
    const checkpoints = fileCheckpoints<Request>(dir);
    const first = await loopWith({ checkpoints, prepare: () => base }).loop.execute(request);
    const second = loopWith({ checkpoints, prepare: () => ({ ...base, ...change }) });
    const response = await second.loop.execute(request);
    expect(second.requests).toHaveLength(1);
    expect(response.evaluationId).not.toBe(first.evaluationId);
  });

  test('whose prompt changed since is rejected, or runs again with onInvalid: restart', async () => {
    const checkpoints = fileCheckpoints<Request>(dir);
    await loopWith({ checkpoints }).loop.execute(request);
    const changed = { checkpoints, instructions: 'Study {{topic}} well.' };
    await expect(loopWith(changed).loop.execute(request)).rejects.toMatchObject({ code: 'PROMPT_MISMATCH' });
    const again = loopWith({ ...changed, onInvalid: 'restart' as const });
    expect(await again.loop.execute(request)).toMatchObject({ status: 'completed' });
    expect(again.requests).toHaveLength(1);
  });

  test('whose response no longer fits the schema is rejected, or runs again with onInvalid: restart', async () => {
    const checkpoints = fileCheckpoints<Request>(dir);
    await loopWith({ checkpoints, script: ['1'], output: z.number() }).loop.execute(request);
    const next = { checkpoints, script: ['{"n":1}'], output: z.object({ n: z.number() }) };
    await expect(loopWith(next).loop.execute(request)).rejects.toMatchObject({ code: 'OUTPUT_INVALID' });
    expect(await loopWith({ ...next, onInvalid: 'restart' }).loop.execute(request)).toMatchObject({ output: { n: 1 } });
  });

  test('that is cleared runs again', async () => {
    const checkpoints = fileCheckpoints<Request>(dir);
    await loopWith({ checkpoints }).loop.execute(request);
    await checkpoints.clear(request);
    const { loop, requests } = loopWith({ checkpoints });
    await loop.execute(request);
    expect(requests).toHaveLength(1);
  });
});

describe('evaluation ids are derived from the request', () => {
  test('a run that saved nothing has the same idempotency keys when it runs again', async () => {
    const keys: string[] = [];
    const pay = tool('pay', (_, { idempotencyKey }) => keys.push(idempotencyKey), { effect: 'idempotent' });
    const process = (answers: typeof script) =>
      loopWith({ script: answers, tools: [pay], checkpoints: fileCheckpoints<Request>(dir), strategy: 'on-demand' });
    await process([script[0] ?? '', { error: { status: 400 } }] as typeof script).loop.execute(request);
    await process(script).loop.execute(request);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  test('different requests in one session have different ids, and each returns its recorded response', async () => {
    const store = memoryStore();
    const prompt = definePrompt({ ns: 'test', key: 'study', instructions: 'Study.' });
    const { loop, requests } = loopWith({
      store,
      script: ['ok', 'ok'],
      prepare: ({ topic }) => ({ prompt, input: topic, sessionId: 'shared' }),
    });
    const birds = await loop.execute({ id: 'a', topic: 'birds' });
    const fish = await loop.execute({ id: 'b', topic: 'fish' });
    expect(fish.evaluationId).not.toBe(birds.evaluationId);
    // A request that is repeated after a newer one is not run again.
    expect(await loop.execute({ id: 'a', topic: 'birds' })).toEqual(birds);
    expect(requests).toHaveLength(2);
  });

  test('a restart in the same session has a new id', async () => {
    const store = memoryStore();
    await loopWith({ store, script: ['1'], output: z.number() }).loop.execute(request);
    const next = { store, script: ['{"n":1}'], output: z.object({ n: z.number() }), onInvalid: 'restart' as const };
    const { evaluationId } = await loopWith(next).loop.execute(request);
    expect(evaluationId).toMatch(/^ev_[0-9a-f]{24}_2$/);
    expect(await loopWith({ ...next, script: [] }).loop.execute(request)).toMatchObject({ evaluationId });
  });
});

describe('two processes with one request', () => {
  test("exclude each other: one runs it, the other's error names the holder", async () => {
    const running = Promise.withResolvers<void>();
    const end = Promise.withResolvers<string>();
    const pay = vi.fn(() => {
      running.resolve();
      return end.promise;
    });
    const process = () => loopWith({ script, tools: [tool('pay', pay)], checkpoints: fileCheckpoints<Request>(dir) });
    const first = process().loop.execute(request);
    await running.promise;
    await expect(process().loop.execute(request)).rejects.toMatchObject({
      code: 'SESSION_BUSY',
      message: expect.stringContaining(`request r1 is being run by process ${globalThis.process.pid}`),
    });
    end.resolve('done');
    expect(await first).toMatchObject({ status: 'completed' });
    expect(pay).toHaveBeenCalledTimes(1);
    expect(readdirSync(dir)).toEqual(['r1.json']); // the lock was removed
  });

  test('that start at the same time: exactly one runs it, every time', async () => {
    for (let round = 0; round < 5; round++) {
      const target = { id: `r${round}`, topic: 'birds' };
      const pay = vi.fn(() => 'done');
      const loops = Array.from({ length: 6 }, () =>
        loopWith({ script, tools: [tool('pay', pay)], checkpoints: fileCheckpoints<Request>(dir) }),
      );
      const ended = await Promise.allSettled(loops.map(({ loop }) => loop.execute(target)));
      const texts = ended.map((one) => (one.status === 'fulfilled' ? one.value.text : one.reason.code));
      expect(texts).toContain('paid');
      expect(new Set([...texts, 'paid', 'SESSION_BUSY']).size).toBe(2);
      expect(pay).toHaveBeenCalledTimes(1);
    }
  });

  const locked = (holder: object): void => {
    mkdirSync(join(dir, 'r1.lock'));
    writeFileSync(join(dir, 'r1.lock', 'theirs.json'), JSON.stringify(holder));
    writeFileSync(join(dir, 'r1.lock', 'theirs.held'), '');
  };

  test('the lock of a dead process is taken over', async () => {
    locked({ ...thisProcess(), startedAt: '1' });
    const { loop } = loopWith({ checkpoints: fileCheckpoints<Request>(dir) });
    expect(await loop.execute(request)).toMatchObject({ status: 'completed' });
    expect(readdirSync(dir)).toEqual(['r1.json']);
  });

  test('the lock of another machine is respected while its process renews it', async () => {
    locked({ id: 'x', host: `not-${hostname()}`, pid: 1, startedAt: '1' });
    const { loop, requests } = loopWith({ checkpoints: fileCheckpoints<Request>(dir) });
    await expect(loop.execute(request)).rejects.toMatchObject({
      code: 'SESSION_BUSY',
      message: expect.stringContaining(`process 1 on not-${hostname()}`),
    });
    expect(requests).toEqual([]);
  });

  test('the lock of another machine that was not renewed for long is taken over', async () => {
    locked({ id: 'x', host: `not-${hostname()}`, pid: 1, startedAt: '1' });
    const longAgo = new Date(Date.now() - 3_600_000);
    utimesSync(join(dir, 'r1.lock', 'theirs.json'), longAgo, longAgo);
    const { loop } = loopWith({ checkpoints: fileCheckpoints<Request>(dir) });
    expect(await loop.execute(request)).toMatchObject({ status: 'completed' });
  });

  test('a run whose lock was taken over stops before it acts', async () => {
    const pay = vi.fn(() => 'done');
    const checkpoints = fileCheckpoints<Request>(dir);
    const { loop } = loopWith({
      script: [{ toolCalls: [call('look')] }, ...script],
      tools: [tool('pay', pay), tool('look', () => rmSync(join(dir, 'r1.lock'), { recursive: true }))],
      checkpoints,
    });
    await expect(loop.execute(request)).rejects.toMatchObject({ code: 'SESSION_CONFLICT' });
    expect(pay).not.toHaveBeenCalled();
  });

  test('requests of one directory do not exclude each other', async () => {
    const { loop } = loopWith({ checkpoints: fileCheckpoints<Request>(dir) });
    const answers = await Promise.all(['a', 'b', 'c'].map((id) => loop.execute({ id, topic: id })));
    expect(answers.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
  });
});
