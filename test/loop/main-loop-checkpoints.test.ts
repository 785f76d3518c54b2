import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type CheckpointHandler, definePrompt, fileCheckpoints } from '../../src/evaluate.ts';
import {
  type AnyTool,
  defineSlice,
  memoryStore,
  openSession,
  type Snapshot,
  type ToolContext,
} from '../../src/index.ts';
import type { CheckpointStrategy } from '../../src/loop/main-loop/checkpoints.ts';
import { call, tool } from './agent.ts';
import { loopWith, type Request, request } from './loop-with.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-main-loop-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
});

/** Leaves the state of a killed process: its lock is that of a dead process, which the next one takes over. */
function processDied(): void {
  rmSync(join(dir, 'r1.lock'), { recursive: true });
}

/** The stored part of a completed request: only its response. */
function expectAnswerKept(): void {
  expect(readdirSync(dir)).toEqual(['r1.json']);
  expect(JSON.parse(readFileSync(join(dir, 'r1.json'), 'utf8'))).toMatchObject({ format: 'holdfast-answer' });
}

describe('MainLoop with checkpoints instead of a store', () => {
  /** The tools that ran in each process. A process that is killed in a tool never returns from it. */
  function process(strategy: CheckpointStrategy, dieIn?: string) {
    const ran: string[] = [];
    const died = Promise.withResolvers<'died'>();
    const aIsDone = (context: ToolContext): boolean =>
      strategy === 'on-tool-use'
        ? readFileSync(join(dir, 'r1.json'), 'utf8').includes('a done')
        : context.session.state.record.messages.toArray().some(({ role }) => role === 'tool');
    const step = (name: string): AnyTool =>
      tool(
        name,
        async (_, context) => {
          ran.push(name);
          if (name === 'b' && strategy === 'on-demand') await loop.checkpoint();
          if (name !== dieIn) return `${name} done`;
          while (!aIsDone(context)) await setImmediate();
          died.resolve('died');
          return new Promise(() => {});
        },
        { effect: 'idempotent' },
      );
    const { loop, requests } = loopWith({
      script: [{ toolCalls: [call('a'), call('b')] }, { toolCalls: [call('c')] }, 'ok'],
      tools: [step('a'), step('b'), step('c')],
      checkpoints: fileCheckpoints<Request>(dir),
      strategy,
    });
    const asked = (): readonly number[] => requests.map(({ turn }) => turn);
    return { ran, asked, execute: () => Promise.race([loop.execute(request), died.promise]) };
  }

  test.for<readonly [CheckpointStrategy, string, readonly string[], readonly number[]]>([
    ['on-turn', 'b', ['a', 'b', 'c'], [2, 3]], // a's result was not saved yet: it runs again
    ['on-turn', 'c', ['c'], [3]],
    ['on-tool-use', 'b', ['b', 'c'], [2, 3]],
    ['on-tool-use', 'c', ['c'], [3]],
    ['on-complete', 'c', ['a', 'b', 'c'], [1, 2, 3]], // nothing was saved before the end
    [{ everyMs: 0 }, 'c', ['c'], [3]],
    [{ everyMs: 3_600_000 }, 'c', ['a', 'b', 'c'], [1, 2, 3]],
    ['on-demand', 'c', ['a', 'b', 'c'], [2, 3]], // saved while both ran, by b's request
  ])('%o, killed in %s: %j run in the process that resumes', async ([strategy, dieIn, ran, asked]) => {
    expect(await process(strategy, dieIn).execute()).toBe('died');
    processDied();
    const second = process(strategy);
    expect(await second.execute()).toMatchObject({ status: 'completed', text: 'ok', turns: 3 });
    expect(second.ran).toEqual(ran);
    expect(second.asked()).toEqual(asked);
    expectAnswerKept();
  });

  test('a once call that finished and was not saved has an unknown outcome, and never runs again (I2)', async () => {
    let runs = 0;
    const options = (die: boolean) => ({
      script: [{ toolCalls: [call('pay'), call('hang')] }, 'ok'],
      tools: [
        tool('pay', () => ++runs),
        tool('hang', () => (die ? new Promise(() => {}) : 'done'), { effect: 'idempotent' as const }),
      ],
      checkpoints: fileCheckpoints<Request>(dir),
    });
    void loopWith(options(true))
      .loop.execute(request)
      .catch(() => {}); // rejects: its lock was taken over
    while (runs === 0) await setImmediate();
    for (let i = 0; i < 10; i++) await setImmediate();
    processDied();
    const response = await loopWith(options(false)).loop.execute(request);
    expect(response).toMatchObject({ status: 'suspended', reason: 'TOOL_OUTCOME_UNKNOWN' });
    expect(runs).toBe(1);
  });

  test('a checkpoint is saved before the loop continues', async () => {
    const order: string[] = [];
    const saved = new Map<string, Snapshot>();
    const checkpoints: CheckpointHandler<Request> = {
      load: async ({ id }) => saved.get(id),
      async save({ id }, snapshot) {
        await setImmediate();
        saved.set(id, structuredClone(snapshot));
        order.push('saved');
      },
      clear: async ({ id }) => void saved.delete(id),
    };
    const { loop } = loopWith({
      script: [{ toolCalls: [call('a')] }, 'ok'],
      tools: [tool('a', () => order.push('ran'))],
      checkpoints,
      finalize: () => void order.push('finalized'),
    });
    await loop.execute(request);
    expect(order).toEqual(['saved', 'saved', 'ran', 'saved', 'saved', 'finalized']);
    expect(saved.size).toBe(0);
  });

  test('slices, and results of any size, survive', async () => {
    const notes = defineSlice({
      name: 'notes',
      initial: [] as string[],
      on: { 'note/added': (items, event: { readonly text: string }) => [...items, event.text] },
    });
    const big = 'x'.repeat(400_000);
    const make = (die: boolean) => {
      const note = tool('note', async (_, { session }) => {
        await session.dispatch({ type: 'note/added', text: 'kept' });
        return big;
      });
      const hang = tool('hang', () => (die ? new Promise(() => {}) : 'done'), { effect: 'read' });
      const prompt = definePrompt({ ns: 'test', key: 'study', instructions: 'Hi.', tools: [note, hang] });
      return loopWith({
        script: [{ toolCalls: [call('note')] }, { toolCalls: [call('hang')] }, 'ok'],
        prepare: () => ({ prompt, slices: [notes] }),
        checkpoints: fileCheckpoints<Request>(dir),
        finalize: (_, __, session) => expect(session.select(notes).all()).toEqual(['kept']),
      });
    };
    const first = make(true);
    void first.loop.execute(request).catch(() => {}); // rejects: its lock was taken over
    while (first.requests.length < 2) await setImmediate();
    for (let i = 0; i < 50; i++) await setImmediate();
    processDied();
    const second = make(false);
    expect(await second.loop.execute(request)).toMatchObject({ status: 'completed' });
    expect(JSON.stringify(second.requests.at(-1)?.messages)).toContain(big);
    expect.assertions(3);
  });

  test('after a crash in finalize the checkpoint still exists, and finalize is called again', async () => {
    const finalize = vi.fn().mockRejectedValueOnce(new Error('no'));
    const options = { checkpoints: fileCheckpoints<Request>(dir), finalize };
    await expect(loopWith(options).loop.execute(request)).rejects.toThrow('no');
    const second = loopWith(options);
    expect(await second.loop.execute(request)).toMatchObject({ text: 'ok' });
    expect(second.requests).toEqual([]);
    expect(finalize).toHaveBeenCalledTimes(2);
  });

  test('a waiting call can be approved in its checkpoint', async () => {
    const checkpoints = fileCheckpoints<Request>(dir);
    const options = {
      script: [{ toolCalls: [call('deploy')] }, 'ok'],
      tools: [tool('deploy', () => 'deployed', { needsApproval: true })],
      checkpoints,
    };
    const { pending } = await loopWith(options).loop.execute(request);
    const session = await openSession({ store: memoryStore(), id: 'r1' });
    await session.restore((await checkpoints.load(request)) ?? '');
    for (const one of pending) await session.approve(one);
    await checkpoints.save(request, session.snapshot());
    expect(await loopWith(options).loop.execute(request)).toMatchObject({ status: 'completed', text: 'ok' });
  });

  test('a checkpoint that cannot be saved stops the run', async () => {
    const checkpoints: CheckpointHandler<Request> = {
      load: async () => undefined,
      save: () => Promise.reject(new Error('the disk is full')),
      clear: async () => {},
    };
    const { loop, requests } = loopWith({ checkpoints });
    await expect(loop.execute(request)).rejects.toThrow('the disk is full');
    expect(requests).toEqual([]);
  });

  test.for([
    ['not JSON', '{"format":'],
    ['something else', '{"hello":1}'],
    [
      'of a version to come',
      '{"format":"holdfast-snapshot","version":99,"sessionId":"r1","seq":1,"at":"","slices":{}}',
    ],
    ['empty', ''],
  ])('a damaged checkpoint (%s): fail throws, restart starts again', async ([, text]) => {
    const checkpoints = fileCheckpoints<Request>(dir);
    writeFileSync(join(dir, 'r1.json'), text ?? '');
    await expect(loopWith({ checkpoints }).loop.execute(request)).rejects.toMatchObject({ code: 'SNAPSHOT_INVALID' });
    expect(readdirSync(dir)).toEqual(['r1.json']);
    const { loop } = loopWith({ checkpoints, onInvalid: 'restart' });
    expect(await loop.execute(request)).toMatchObject({ status: 'completed', text: 'ok' });
    expectAnswerKept();
  });
});
